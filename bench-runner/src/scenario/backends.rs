//! Where the servers are: managed ones and addresses. `${ENV}` is expanded here and nowhere else.

use redis::IntoConnectionInfo;
use strategies::strategy::RedisAddress;

use crate::complaint::{Complaint, Place};
use crate::plan::{Ceiling, Persistence, RedisBackend};
use crate::scenario::fields::{Fields, Placed};
use crate::scenario::values::{choice, count, flag, rate, scalar};
use crate::yaml::{Node, Shape};

/// Looks up an environment variable.
pub type Environment<'e> = &'e dyn Fn(&str) -> Option<String>;

/// The backends that a scenario names.
#[derive(Debug, Clone, Default)]
pub struct WantedBackends {
    /// The Redis under test.
    pub redis: Option<Placed<RedisBackend>>,
    /// The witness.
    pub witness: Option<Placed<RedisBackend>>,
}

const LATER: [&str; 6] =
    ["redis-replicated", "redis-cluster", "redis-quorum", "zookeeper", "etcd", "postgres"];

/// What a backend is if the scenario says nothing.
pub const MANAGED: RedisBackend = RedisBackend::Managed { persistence: Persistence::None };

/// The block `backends`.
pub fn read_backends(
    node: &Node,
    environment: Environment<'_>,
    complaints: &mut Vec<Complaint>,
) -> WantedBackends {
    let Some(mut fields) = Fields::open(node, "backends", complaints) else {
        return WantedBackends::default();
    };
    let mut one = |key, complaints: &mut Vec<Complaint>| {
        let pair = fields.take_pair(key)?;
        let value = backend(&pair.value, environment, complaints)?;
        Some(Placed { value, place: pair.place })
    };
    let redis = one("redis", complaints);
    let witness = one("witness", complaints);
    for later in LATER {
        fields.not_built(later, complaints);
    }
    fields.finish(complaints);
    if let (Some(redis), Some(witness)) = (&redis, &witness)
        && same_server(&redis.value, &witness.value)
    {
        complaints.push(
            Complaint::at(witness.place, "the witness is the server under test")
                .remedy("a witness that is loaded and broken with the lock proves nothing; name another server, or leave it out to have one started"),
        );
    }
    WantedBackends { redis, witness }
}

fn same_server(one: &RedisBackend, other: &RedisBackend) -> bool {
    let server = |backend: &RedisBackend| match backend {
        RedisBackend::Address { address, .. } => {
            address.reveal().into_connection_info().ok().map(|info| info.addr().to_string())
        }
        RedisBackend::Managed { .. } => None,
    };
    matches!((server(one), server(other)), (Some(one), Some(other)) if one == other)
}

fn backend(
    node: &Node,
    environment: Environment<'_>,
    complaints: &mut Vec<Complaint>,
) -> Option<RedisBackend> {
    if let Shape::Scalar(scalar) = &node.shape {
        if scalar.text == "managed" {
            return Some(MANAGED);
        }
        let address = address(node, environment, complaints)?;
        return by_address(node.place, address, false, None, complaints);
    }
    let mut fields = Fields::open(node, "a backend", complaints)?;
    let address_node = fields.take("address");
    let managed_node = fields.take("managed");
    let disposable =
        fields.take("disposable").map(|node| (node, flag("disposable", node, complaints)));
    let ceiling = fields.take("ceiling").map(|node| (node, ceiling(node, complaints)));
    fields.finish(complaints);
    match (address_node, managed_node) {
        (Some(node), None) => {
            let address = address(node, environment, complaints)?;
            let disposable = disposable.map_or(Some(false), |(_, value)| value)?;
            let ceiling = match ceiling {
                Some((_, None)) => return None,
                Some((_, ceiling)) => ceiling,
                None => None,
            };
            by_address(node.place, address, disposable, ceiling, complaints)
        }
        (None, Some(node)) => {
            let only_by_address =
                disposable.map(|(node, _)| node).or(ceiling.map(|(node, _)| node));
            if let Some(node) = only_by_address {
                complaints.push(Complaint::at(node.place, "a managed server needs no such key"));
            }
            managed(node, complaints)
        }
        _ => {
            complaints.push(
                Complaint::at(node.place, "a backend is either managed or has an address").remedy(
                    "write managed: { persistence: none } or address: redis://127.0.0.1:6379",
                ),
            );
            None
        }
    }
}

fn managed(node: &Node, complaints: &mut Vec<Complaint>) -> Option<RedisBackend> {
    let mut fields = Fields::open(node, "managed", complaints)?;
    let choices = [
        ("none", Persistence::None),
        ("aof-everysec", Persistence::AofEverysec),
        ("aof-always", Persistence::AofAlways),
    ];
    let persistence = fields
        .take("persistence")
        .map_or(Some(Persistence::None), |node| choice("persistence", &choices, node, complaints));
    fields.not_built("nodes", complaints);
    fields.finish(complaints);
    Some(RedisBackend::Managed { persistence: persistence? })
}

fn ceiling(node: &Node, complaints: &mut Vec<Complaint>) -> Option<Ceiling> {
    let mut fields = Fields::open(node, "ceiling", complaints)?;
    let operations = fields.take("operations").map(|node| rate("operations", node, complaints));
    let connections =
        fields.take("connections").map(|node| count("connections", (1, 100_000), node, complaints));
    fields.finish(complaints);
    let (Some(operations), Some(connections)) = (operations, connections) else {
        complaints.push(
            Complaint::at(node.place, "a ceiling has two sides")
                .remedy("write ceiling: { operations: 20000/s, connections: 200 }"),
        );
        return None;
    };
    Some(Ceiling { operations: operations?, connections: u32::try_from(connections?).ok()? })
}

fn by_address(
    place: Place,
    (address, loopback): (RedisAddress, bool),
    disposable: bool,
    ceiling: Option<Ceiling>,
    complaints: &mut Vec<Complaint>,
) -> Option<RedisBackend> {
    if !loopback && ceiling.is_none() {
        complaints.push(
            Complaint::at(place, format!("{address} is not on this host and has no ceiling"))
                .remedy(
                    "say what its owner allows: { address: .., ceiling: { operations: 20000/s, connections: 200 } }",
                ),
        );
        return None;
    }
    Some(RedisBackend::Address { address, disposable, ceiling })
}

/// An address and whether it is on loopback.
fn address(
    node: &Node,
    environment: Environment<'_>,
    complaints: &mut Vec<Complaint>,
) -> Option<(RedisAddress, bool)> {
    let text = &scalar("address", "a URL", node, complaints)?.text;
    let url = expand(text, node.place, environment, complaints)?;
    let form = "write redis://user:password@host:6379, or rediss:// for TLS";
    if !url.starts_with("redis://") && !url.starts_with("rediss://") {
        complaints.push(
            Complaint::at(node.place, "the address is not a redis:// or rediss:// URL")
                .remedy(form),
        );
        return None;
    }
    // The parser's own words could repeat the credentials, so they are not passed on.
    let Ok(info) = url.as_str().into_connection_info() else {
        complaints.push(Complaint::at(node.place, "the address is not a valid URL").remedy(form));
        return None;
    };
    let loopback = match info.addr() {
        redis::ConnectionAddr::Tcp(host, _) | redis::ConnectionAddr::TcpTls { host, .. } => {
            host == "localhost"
                || host
                    .trim_matches(['[', ']'])
                    .parse::<std::net::IpAddr>()
                    .is_ok_and(|address| address.is_loopback())
        }
        _ => false,
    };
    Some((RedisAddress::new(url), loopback))
}

/// `text` with every `${NAME}` replaced; complaints name the variable, never a value.
fn expand(
    text: &str,
    place: Place,
    environment: Environment<'_>,
    complaints: &mut Vec<Complaint>,
) -> Option<String> {
    let mut expanded = String::new();
    let mut rest = text;
    let mut whole = true;
    while let Some((before, after)) = rest.split_once("${") {
        expanded.push_str(before);
        let Some((name, after)) = after.split_once('}') else {
            complaints.push(
                Complaint::at(place, "a `${` has no `}`").remedy("write ${NAME_OF_VARIABLE}"),
            );
            return None;
        };
        if let Some(value) = environment(name) {
            expanded.push_str(&value);
        } else {
            complaints.push(
                Complaint::at(place, format!("the environment variable `{name}` is not set"))
                    .remedy(format!("export {name}=...")),
            );
            whole = false;
        }
        rest = after;
    }
    expanded.push_str(rest);
    whole.then_some(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (WantedBackends, Vec<Complaint>) {
        let mut complaints = Vec::new();
        let node = crate::yaml::read(text, &mut complaints).expect("the test's YAML is right");
        let environment = |name: &str| (name == "SECRET").then(|| "hush".to_owned());
        let backends = read_backends(&node, &environment, &mut complaints);
        (backends, complaints)
    }

    #[test]
    fn a_secret_is_used_and_never_shown() {
        let (backends, complaints) = read("redis: redis://me:${SECRET}@127.0.0.1:7001");
        assert_eq!(complaints, []);
        let backend = backends.redis.expect("it is there").value;
        let RedisBackend::Address { address, .. } = &backend else { panic!("not an address") };
        assert_eq!(address.reveal(), "redis://me:hush@127.0.0.1:7001");
        assert!(!format!("{backend:?}").contains("hush"));
        assert!(!serde_json::to_string(&backend).expect("it serialises").contains("hush"));
        for bad in ["redis: \"${SECRET}\"", "redis: redis://a:${SECRET}@127.0.0.1:x"] {
            let (_, complaints) = read(bad);
            assert_eq!(complaints.len(), 1, "{bad}");
            assert!(!format!("{complaints:?}").contains("hush"), "{complaints:?}");
        }
    }

    #[test]
    fn a_server_elsewhere_needs_a_ceiling() {
        let (_, complaints) = read("redis: redis://redis.example.com:6379");
        assert!(complaints[0].message.contains("has no ceiling"), "{complaints:?}");
        let (backends, complaints) = read(
            "redis: { address: 'redis://redis.example.com', ceiling: { operations: 20000/s, connections: 200 } }",
        );
        assert_eq!(complaints, []);
        assert!(backends.redis.is_some());
    }

    #[test]
    fn the_witness_is_another_server() {
        let (_, complaints) =
            read("redis: redis://127.0.0.1:7001\nwitness: redis://127.0.0.1:7001/3");
        assert!(complaints[0].message.contains("witness"), "{complaints:?}");
    }
}
