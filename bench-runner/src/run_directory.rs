//! The folder of one run: who may write there, what stands where, and how it gets onto the disk whole.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use results::atomic_file;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Failure;

/// Where runs go unless the user says otherwise; created when missing.
pub const DEFAULT_OUT: &str = "runs";

/// The folder of a run, locked for this process until dropped.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    journal: Journal,
    _lock: File,
}

/// What must be remembered so that whatever this run left on somebody's server can be found again: `journal.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// Version of this file: 1.
    pub format: u32,
    /// Random, eight hexadecimal digits: part of every key of this run.
    pub id: String,
    /// Name of the run: that of its folder.
    pub run: String,
    /// Every key of this run begins with it.
    pub prefix: String,
}

impl RunDirectory {
    /// Makes `<out>/<UTC timestamp>-<slug>/` and locks it.
    pub fn create(out: Option<&Path>, slug: &str, prefix: &str) -> Result<Self, Failure> {
        let out = out_folder(out)?;
        let name = format!("{}-{slug}", timestamp());
        let path = fs::canonicalize(&out).map_err(|e| unusable(&out, &e))?.join(&name);
        fs::create_dir(&path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Failure::usage(anyhow!(
                "{} exists already: another run began in this very second; try again",
                path.display()
            )),
            _ => unusable(&out, &error),
        })?;
        let lock = lock(&path)?;
        let id = format!("{:08x}", rand::random::<u32>());
        let prefix = format!("{prefix}:{id}");
        let journal = Journal { format: 1, id, run: name.clone(), prefix };
        let directory = Self { path, journal, _lock: lock };
        directory.write_json("journal.json", &directory.journal)?;
        Ok(directory)
    }

    /// Points `latest`, beside it, at it.
    pub fn become_latest(&self) {
        if let Some(out) = self.path.parent() {
            point_latest(out, &self.journal.run);
        }
    }

    /// Opens the folder of an earlier run to finish it.
    pub fn resume(path: &Path) -> Result<Self, Failure> {
        let path = fs::canonicalize(path)
            .with_context(|| format!("could not find the run {}", path.display()))
            .map_err(Failure::usage)?;
        let journal: Journal = read_json(&path.join("journal.json"))
            .with_context(|| format!("{} is not the folder of a run", path.display()))
            .map_err(Failure::usage)?;
        let lock = lock(&path)?;
        Ok(Self { path, journal, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What identifies it.
    pub const fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The folder of one trial: `cells/<cell>/<trial>`.
    pub fn trial(&self, cell: &str, trial: u32) -> PathBuf {
        self.path.join("cells").join(cell).join(trial.to_string())
    }

    /// Writes a file of the run: whole, or not at all.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), Failure> {
        write_whole(&self.path.join(name), content).map_err(Failure::from)
    }

    /// Writes a value as a JSON file of the run: whole, or not at all.
    pub fn write_json<T: Serialize>(&self, name: &str, value: &T) -> Result<(), Failure> {
        write_json(&self.path.join(name), value).map_err(Failure::from)
    }

    /// Complains when `plan` is not the one that this run was begun with, naming the first difference.
    pub fn must_have_plan(&self, plan: &Value) -> Result<(), Failure> {
        let saved: Value = read_json(&self.path.join("plan.json")).map_err(Failure::usage)?;
        match difference("", &saved, plan) {
            None => Ok(()),
            Some(what) => Err(Failure::usage(anyhow!(
                "cannot resume {}: its plan is another one: {what}\nstart a new run, or restore the scenario that it was begun with",
                self.path.display()
            ))),
        }
    }
}

/// Writes `value` as JSON to `path`: whole, or not at all.
pub fn write_json<T: Serialize>(path: &Path, value: &T) -> anyhow::Result<()> {
    let mut content = serde_json::to_vec_pretty(value)
        .with_context(|| format!("could not put {} into JSON", path.display()))?;
    content.push(b'\n');
    write_whole(path, &content)
}

/// Reads a JSON file.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let content = fs::read(path).with_context(|| format!("could not read {}", path.display()))?;
    serde_json::from_slice(&content)
        .with_context(|| format!("{} is not what it should be", path.display()))
}

fn write_whole(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    atomic_file::write(path, content).with_context(|| format!("could not write {}", path.display()))
}

fn out_folder(out: Option<&Path>) -> Result<PathBuf, Failure> {
    let Some(out) = out else {
        let out = PathBuf::from(DEFAULT_OUT);
        fs::create_dir_all(&out).map_err(|error| unusable(&out, &error))?;
        return Ok(out);
    };
    match fs::metadata(out) {
        Ok(found) if found.is_dir() => Ok(out.to_owned()),
        Ok(_) => Err(Failure::usage(anyhow!(
            "cannot write runs to {}: it is not a folder; name one with --out",
            out.display()
        ))),
        Err(error) => Err(unusable(out, &error)),
    }
}

fn unusable(out: &Path, error: &io::Error) -> Failure {
    let remedy = if out.exists() || error.kind() != io::ErrorKind::NotFound {
        "name another folder with --out".to_owned()
    } else {
        format!("create it with `mkdir -p {}`", out.display())
    };
    Failure::usage(anyhow!("cannot write runs to {}: {error}; {remedy}", out.display()))
}

fn lock(path: &Path) -> Result<File, Failure> {
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path.join("lock"))
        .with_context(|| format!("could not lock {}", path.display()))
        .map_err(Failure::usage)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(Failure::usage(anyhow!(
            "{} is being written by another lockbench; wait for its end",
            path.display()
        ))),
        Err(TryLockError::Error(error)) => Err(Failure::usage(error)),
    }
}

/// The link is a convenience: a run without it is as good, so a foreign file in its place is left alone.
fn point_latest(out: &Path, name: &str) {
    let latest = out.join("latest");
    let beside = out.join(format!(".latest-{name}"));
    if latest.symlink_metadata().is_ok_and(|found| !found.is_symlink()) {
        return;
    }
    if std::os::unix::fs::symlink(name, &beside).is_ok() && fs::rename(&beside, &latest).is_err() {
        let _ = fs::remove_file(&beside);
    }
}

#[allow(clippy::disallowed_methods, reason = "wall time as the name of a folder")]
fn timestamp() -> String {
    let now = std::time::SystemTime::now();
    humantime::format_rfc3339_seconds(now).to_string().replace(':', "-")
}

fn difference(path: &str, old: &Value, new: &Value) -> Option<String> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
            keys.into_iter().find_map(|key| {
                let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let absent = &Value::Null;
                difference(&inner, old.get(key).unwrap_or(absent), new.get(key).unwrap_or(absent))
            })
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => old
            .iter()
            .zip(new)
            .enumerate()
            .find_map(|(index, (old, new))| difference(&format!("{path}[{index}]"), old, new)),
        (Value::Array(old), Value::Array(new)) => {
            Some(format!("{path} had {} entries and has {} now", old.len(), new.len()))
        }
        _ if old == new => None,
        _ => Some(format!("{path} was {old} and is {new} now")),
    }
}

#[cfg(test)]
mod tests;
