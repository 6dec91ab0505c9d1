//! What an error of the Redis client means for a lock: did anything happen, or may it have?

use redis::{ErrorKind, RedisError};

use crate::lock::LockError;

/// How much of a server's words is kept, in characters.
const MOST: usize = 300;

/// Where an error came up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Before any request: resolving, connecting, authenticating.
    Connecting,
    /// After a request may have left.
    Asking,
}

/// The server's name for errors, and the words that must never be printed.
pub(crate) struct Speaker {
    pub(crate) server: String,
    pub(crate) secrets: Vec<String>,
}

impl std::fmt::Debug for Speaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Speaker").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Speaker {
    /// The lock's error for an error of the client.
    pub(crate) fn explain(&self, error: &RedisError, phase: Phase) -> LockError {
        let server = self.server.clone();
        if let Some(words) = server_words(error) {
            return LockError::Refused { server, reason: self.clean(&words) };
        }
        let words = self.clean(&error.to_string());
        if phase == Phase::Connecting {
            return LockError::Unreachable { server, reason: words };
        }
        match error.kind() {
            ErrorKind::Io => LockError::Lost { server, reason: words },
            // The request was found wanting before it was sent.
            ErrorKind::Client | ErrorKind::InvalidClientConfig => {
                LockError::Unreachable { server, reason: words }
            }
            _ => LockError::Unexpected { server, answer: words },
        }
    }

    /// The error for an answer that no protocol of ours knows.
    pub(crate) fn unexpected(&self, answer: &redis::Value) -> LockError {
        LockError::Unexpected {
            server: self.server.clone(),
            answer: self.clean(&format!("{answer:?}")),
        }
    }

    /// `words` without secrets, on one line, shortened.
    fn clean(&self, words: &str) -> String {
        let mut words = words.replace(['\r', '\n'], " ");
        for secret in &self.secrets {
            words = words.replace(secret.as_str(), "(hidden)");
        }
        match words.char_indices().nth(MOST) {
            Some((end, _)) => format!("{}...", &words[..end]),
            None => words,
        }
    }
}

/// The words of an error reply: `NOAUTH Authentication required.`; `None` if the server said no such thing.
fn server_words(error: &RedisError) -> Option<String> {
    let replies = error.clone().into_server_errors()?;
    let (_, reply) = replies.first()?;
    Some(match reply.details() {
        Some(details) => format!("{} {details}", reply.code()),
        None => reply.code().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::lock::Certainty;

    fn speaker() -> Speaker {
        Speaker { server: "redis://h:1".into(), secrets: vec!["hunter2".into()] }
    }

    #[test]
    fn a_time_out_after_sending_is_unknown() {
        let error = RedisError::from(io::Error::from(io::ErrorKind::TimedOut));
        assert_eq!(speaker().explain(&error, Phase::Asking).certainty(), Certainty::Unknown);
        assert_eq!(speaker().explain(&error, Phase::Connecting).class(), "unreachable");
    }

    #[test]
    fn a_refusal_carries_the_words_of_the_server() {
        let error = redis::make_extension_error("NOAUTH".into(), Some("say hunter2".into()));
        let error = speaker().explain(&error, Phase::Asking);
        assert_eq!(error.to_string(), "redis://h:1 refused: NOAUTH say (hidden)");
        assert_eq!(error.certainty(), Certainty::NotApplied);
    }

    #[test]
    fn long_answers_are_shortened() {
        let error = speaker().unexpected(&redis::Value::SimpleString("ä".repeat(1000)));
        assert!(error.to_string().chars().count() < 400);
    }
}
