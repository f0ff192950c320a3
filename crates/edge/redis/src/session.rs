// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a connection has said about itself, and what it asks about.

use std::hint::black_box;
use std::rc::Rc;

use saker_resp::request::{Auth, ClientRequest, CommandRequest, Hello};
use saker_resp::table::{COMMANDS, Row, find};
use saker_resp::{Args, Limits, Replies, Version};

use crate::clients::Client;
use crate::front::{Front, STRANGER};

/// The one user.
const USER: &[u8] = b"default";

/// A connection.
#[derive(Debug)]
pub(crate) struct Session {
    pub front: Rc<Front>,
    pub client: Rc<Client>,
    /// It need not say, or has said, who it is.
    pub is_known: bool,
    pub version: Version,
    /// It wants to be closed.
    pub has_quit: bool,
}

/// Compares in a time that does not tell how much of it is right.
fn is_same(given: &[u8], secret: &[u8]) -> bool {
    let mut different = given.len() ^ secret.len();
    for (n, byte) in given.iter().enumerate() {
        let other = secret.get(n % secret.len().max(1)).copied().unwrap_or(0);
        different |= usize::from(black_box(byte ^ other));
    }
    black_box(different) == 0
}

impl Session {
    pub fn new(front: Rc<Front>, client: Rc<Client>) -> Self {
        let is_known = front.settings.password.is_none();
        Self { front, client, is_known, version: Version::Two, has_quit: false }
    }

    /// How long its commands may be.
    pub fn limits(&self) -> Limits {
        if self.is_known { self.front.limits } else { STRANGER }
    }

    /// `AUTH`
    pub fn auth(&mut self, auth: &Auth<'_>, replies: &mut Replies) {
        if self.is_let_in(auth, replies) {
            replies.ok();
        }
    }

    fn is_let_in(&mut self, auth: &Auth<'_>, replies: &mut Replies) -> bool {
        let Some(password) = &self.front.settings.password else {
            replies.error(format_args!(
                "ERR AUTH was called, and no password is set: serve with --resp-password-file"
            ));
            return false;
        };
        // Both are looked at in any case.
        if is_same(auth.password, password) & is_same(auth.user, USER) {
            self.is_known = true;
            return true;
        }
        replies.error(format_args!("WRONGPASS the user is default, and this is not its password"));
        false
    }

    /// `HELLO`
    pub fn hello(&mut self, hello: &Hello<'_>, replies: &mut Replies) {
        if let Some(auth) = &hello.auth
            && !self.is_let_in(auth, replies)
        {
            return;
        }
        if !self.is_known {
            return replies.error(format_args!("NOAUTH say AUTH first, or HELLO 3 AUTH default PASSWORD"));
        }
        if let Some(name) = hello.name {
            *self.client.name.borrow_mut() = name.to_vec();
        }
        if let Some(version) = hello.version {
            self.speak(version, replies);
        }
        self.introduce(replies);
    }

    fn speak(&mut self, version: Version, replies: &mut Replies) {
        (self.version, replies.version) = (version, version);
        self.client.is_version_three.set(version == Version::Three);
    }

    fn introduce(&self, replies: &mut Replies) {
        replies.map(7);
        for (name, text) in [("server", "redis"), ("version", crate::about::REDIS_VERSION)] {
            replies.bulk(name.as_bytes());
            replies.bulk(text.as_bytes());
        }
        replies.bulk(b"proto");
        replies.integer(if self.version == Version::Three { 3 } else { 2 });
        replies.bulk(b"id");
        replies.integer(self.client.id as i64);
        for (name, text) in [("mode", "standalone"), ("role", "master")] {
            replies.bulk(name.as_bytes());
            replies.bulk(text.as_bytes());
        }
        replies.bulk(b"modules");
        replies.array(0);
    }

    /// `RESET`
    pub fn reset(&mut self, replies: &mut Replies) {
        self.is_known = self.front.settings.password.is_none();
        self.client.name.borrow_mut().clear();
        self.speak(Version::Two, replies);
        replies.simple("RESET");
    }

    /// `CLIENT`
    pub fn client(&self, request: &ClientRequest<'_>, replies: &mut Replies) {
        match *request {
            ClientRequest::Id => replies.integer(self.client.id as i64),
            ClientRequest::Name => match self.client.name.borrow().as_slice() {
                [] => replies.null(),
                name => replies.bulk(name),
            },
            ClientRequest::SetName(name) => {
                *self.client.name.borrow_mut() = name.to_vec();
                replies.ok();
            }
            ClientRequest::SetLibrary { is_version, value } => {
                self.client.library.borrow_mut()[usize::from(is_version)] = value.to_vec();
                replies.ok();
            }
            ClientRequest::List => replies.text(&self.front.clients.list()),
            ClientRequest::Info => replies.text(&self.client.line()),
        }
    }
}

/// `COMMAND`
pub(crate) fn command(request: &CommandRequest<'_, '_>, replies: &mut Replies) {
    match *request {
        CommandRequest::Count => replies.integer(COMMANDS.len() as i64),
        CommandRequest::List => {
            replies.array(COMMANDS.len());
            COMMANDS.iter().for_each(|row| replies.bulk(row.name.to_ascii_lowercase().as_bytes()));
        }
        CommandRequest::Info(names) => {
            let rows = named(names);
            replies.array(rows.len());
            rows.iter().for_each(|row| match row {
                Some(row) => row.write_info(replies),
                None => replies.null(),
            });
        }
        CommandRequest::Docs(names) => {
            let rows: Vec<_> = named(names).into_iter().flatten().collect();
            replies.map(rows.len());
            rows.iter().for_each(|row| row.write_docs(replies));
        }
    }
}

/// These commands, or all.
fn named(names: Args<'_, '_>) -> Vec<Option<&'static Row>> {
    if names.is_empty() { COMMANDS.iter().map(Some).collect() } else { names.iter().map(find).collect() }
}

#[cfg(test)]
mod tests {
    use super::is_same;

    #[test]
    fn only_the_password_is_the_password() {
        assert!(is_same(b"secret", b"secret"));
        for other in [&b""[..], b"s", b"secre", b"secrets", b"Secret", b"secretsecret"] {
            assert!(!is_same(other, b"secret"));
        }
        assert!(!is_same(b"x", b""));
    }
}
