//! What a Redis server says about itself.

use std::collections::HashMap;

use serde::Serialize;

/// What a server says about itself, for the environment record and the preconditions. `None` where it does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ServerInfo {
    /// `redis` or `valkey`.
    pub product: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// `standalone`, `cluster` or `sentinel`.
    pub mode: Option<String>,
    /// `master` or `slave`.
    pub role: Option<String>,
    /// `none`, `aof`, `rdb` or `aof+rdb`, as far as it can be seen.
    pub persistence: Option<String>,
    /// What it forgets when memory runs out.
    pub maxmemory_policy: Option<String>,
    /// Replicas that must be there for a write to be taken; only where the server shows it.
    pub min_replicas: Option<u64>,
    /// Replicas connected.
    pub replicas: Option<u64>,
    /// Whether the server is ours.
    pub managed: bool,
    /// Whether it runs on this host, sharing cores with the generator.
    pub same_host: bool,
    /// Where it is, without credentials; only for somebody's server.
    pub address: Option<String>,
    /// Things that a reader of the results should know.
    pub warnings: Vec<String>,
}

/// The answer to INFO, field by field.
#[derive(Debug, Clone, Default)]
pub struct Info(HashMap<String, String>);

impl Info {
    /// Reads the answer to INFO.
    pub fn parse(text: &str) -> Self {
        let fields = text.lines().filter_map(|line| line.trim_end().split_once(':'));
        Self(fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// One field in words.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.0.get(field).map(String::as_str)
    }

    /// One field that counts something.
    pub fn count(&self, field: &str) -> Option<u64> {
        self.text(field)?.parse().ok()
    }

    /// One field in seconds with a fraction, as whole microseconds.
    pub fn micros(&self, field: &str) -> Option<u64> {
        let (seconds, fraction) = self.text(field)?.split_once('.')?;
        let micros: u64 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
        Some(seconds.parse::<u64>().ok()? * 1_000_000 + micros)
    }

    /// Whether a field says yes.
    pub fn flag(&self, field: &str) -> bool {
        self.text(field) == Some("1")
    }
}

impl ServerInfo {
    /// Picks what matters out of INFO.
    ///
    /// `save`: its save points, where it may be asked for them.
    pub fn from_info(info: &Info, save: Option<&str>) -> Self {
        let text = |field: &str| info.text(field).map(str::to_owned);
        let valkey = text("valkey_version");
        let product = match (&valkey, info.text("redis_version")) {
            (Some(_), _) => Some("valkey".to_owned()),
            (None, Some(_)) => Some("redis".to_owned()),
            (None, None) => None,
        };
        Self {
            product,
            version: valkey.or_else(|| text("redis_version")),
            mode: text("redis_mode").or_else(|| text("server_mode")),
            role: text("role"),
            persistence: persistence(info, save),
            maxmemory_policy: text("maxmemory_policy"),
            min_replicas: info.count("min_slaves_good_slaves"),
            replicas: info.count("connected_slaves"),
            ..Self::default()
        }
    }

    /// What a reader of the results should know about somebody's server.
    pub fn precondition_warnings(&self, name: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(policy) = self.maxmemory_policy.as_deref()
            && policy != "noeviction"
        {
            warnings.push(format!(
                "{name}: maxmemory-policy is {policy}: when its memory runs out, the server forgets locks"
            ));
        }
        if self.persistence.as_deref() == Some("none") {
            warnings.push(format!(
                "{name}: the server keeps nothing on disk: a restart forgets every lock"
            ));
        }
        if let Some(good) = self.min_replicas {
            warnings.push(format!(
                "{name}: the server takes writes only with enough replicas (now {good} good ones)"
            ));
        }
        warnings
    }
}

fn persistence(info: &Info, save: Option<&str>) -> Option<String> {
    info.text("aof_enabled")?;
    let words = match (info.flag("aof_enabled"), save.map(|save| !save.is_empty())) {
        (true, Some(true)) => "aof+rdb",
        (true, _) => "aof",
        (false, Some(true)) => "rdb",
        (false, Some(false)) => "none",
        (false, None) => return None,
    };
    Some(words.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const REDIS: &str = "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrole:master\r\n\
        aof_enabled:0\r\nmaxmemory_policy:volatile-lru\r\nused_cpu_sys:12.034567\r\n";

    #[test]
    fn what_redis_says_is_understood() {
        let server = ServerInfo::from_info(&Info::parse(REDIS), Some(""));
        assert_eq!(server.product.as_deref(), Some("redis"));
        assert_eq!(server.version.as_deref(), Some("7.0.15"));
        assert_eq!(server.persistence.as_deref(), Some("none"));
        assert_eq!(server.precondition_warnings("redis").len(), 2);
    }

    #[test]
    fn valkey_is_told_from_the_redis_it_speaks() {
        let text = format!("{REDIS}valkey_version:9.1.0\r\n");
        let server = ServerInfo::from_info(&Info::parse(&text), None);
        assert_eq!(server.product.as_deref(), Some("valkey"));
        assert_eq!(server.version.as_deref(), Some("9.1.0"));
    }

    #[test]
    fn what_is_not_said_is_not_known() {
        let server = ServerInfo::from_info(&Info::parse(""), None);
        assert_eq!(server, ServerInfo::default());
    }

    #[test]
    fn cpu_seconds_become_microseconds() {
        let info = Info::parse(REDIS);
        assert_eq!(info.micros("used_cpu_sys"), Some(12_034_567));
        assert_eq!(info.micros("used_cpu_user"), None);
    }
}
