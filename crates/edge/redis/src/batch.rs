// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The commands that came with one read, in their order.

use saker_host::Entry;
use saker_host::group::Op;
use saker_resp::table::{find, request};
use saker_resp::{Args, Condition, Next, Parser, Replies, Request};

use crate::about;
use crate::clients::count;
use crate::errors;
use crate::pace::{GROUPED_BYTES_MAX, REPLIES_MAX};
use crate::refusals::{KEY_BYTES_MAX, say_broken, say_key, too_long};
use crate::run::Run;
use crate::session::{self, Session};
use crate::store::Store;
use crate::teller::Answer;

/// Where the commands of a connection end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Bytes that are done with.
    pub consumed: usize,
    /// More can be done as soon as the connection has read its answers.
    pub has_more: bool,
    /// Nothing that follows can be read.
    pub is_broken: bool,
}

struct Batch<'b, 'i> {
    run: Run<'i>,
    store: &'b mut Store,
    session: &'b mut Session,
    replies: &'b mut Replies,
    /// Where the command begins.
    start: usize,
}

/// Carries out the commands at the beginning of `input`, as many as are whole.
pub(crate) fn carry_out(
    input: &[u8],
    parser: &mut Parser,
    session: &mut Session,
    store: &mut Store,
    replies: &mut Replies,
) -> Ended {
    let (mut commands, mut ended) = (0, Ended { consumed: 0, has_more: false, is_broken: false });
    let mut batch = Batch { run: Run::new(), store, session, replies, start: 0 };
    loop {
        let rest = input.get(ended.consumed..).unwrap_or_default();
        let next = parser.next(rest);
        let bytes = match next {
            Next::Command(bytes) | Next::Skip(bytes) | Next::Refused(bytes, _) => bytes,
            Next::More | Next::Broken(_) => 0,
        };
        batch.start = ended.consumed;
        match next {
            Next::Command(_) => batch.command(parser.args(rest.get(..bytes).unwrap_or_default())),
            Next::Refused(_, why) => batch.alone(|batch| too_long(why, batch.replies)),
            Next::Skip(_) => {}
            Next::More => break,
            Next::Broken(broken) => {
                batch.alone(|batch| say_broken(broken, batch.replies));
                ended.is_broken = true;
                break;
            }
        }
        commands += 1;
        ended.consumed += bytes;
        if batch.must_stop() {
            ended.has_more = true;
            break;
        }
        parser.set_limits(batch.session.limits());
    }
    batch.run.carry_out(batch.store, batch.replies);
    if let Some(start) = batch.run.go_back() {
        parser.go_back();
        (ended.consumed, ended.has_more, ended.is_broken) = (start, true, false);
    }
    count(&batch.session.front.clients.commands, commands);
    ended
}

impl<'i> Batch<'_, 'i> {
    fn must_stop(&self) -> bool {
        self.replies.len() > REPLIES_MAX || self.run.go_back().is_some() || self.session.has_quit
    }

    #[inline]
    fn command(&mut self, args: Args<'i, '_>) {
        if args.is_empty() {
            return;
        }
        if !self.session.is_known && !find(args.at(0)).is_some_and(|row| row.is_for_strangers()) {
            return self.alone(|batch| {
                batch.replies.error(format_args!("NOAUTH a password is needed: AUTH PASSWORD"))
            });
        }
        match request(args) {
            Ok(Request::Get(key)) if is_key(key) => self.add((Op::Retrieve, key, &[]), Answer::Value),
            Ok(Request::Set { key, value, condition: Condition::Always, returns_old: false })
                if is_key(key) && value.len() <= GROUPED_BYTES_MAX =>
            {
                self.add((Op::Store, key, value), Answer::Stored);
            }
            Ok(request) => self.rare(request),
            Err(refusal) => self.alone(|batch| refusal.write(batch.replies)),
        }
    }

    #[inline]
    fn add(&mut self, (op, key, value): (Op, &'i [u8], &'i [u8]), answer: Answer) {
        let entry = Entry { op, key, value };
        self.run.add(entry, (answer, self.start), self.store, self.replies);
    }

    /// What comes behind all that has gathered.
    fn alone(&mut self, act: impl FnOnce(&mut Self)) {
        self.run.carry_out(self.store, self.replies);
        if self.run.go_back().is_none() {
            act(self);
        }
    }

    fn rare(&mut self, request: Request<'i, '_>) {
        if let Some(length) = wrong_key(&request) {
            return self.alone(|batch| say_key(length, batch.replies));
        }
        match request {
            Request::MultiGet(keys) => self.elements(keys),
            Request::Delete(keys) => self.counted(Op::Delete, keys),
            Request::Exists(keys) => self.counted(Op::Exist, keys),
            request => self.alone(|batch| batch.single(&request)),
        }
    }

    fn elements(&mut self, keys: Args<'i, '_>) {
        self.run.begin_several(self.store, self.replies);
        if self.run.go_back().is_some() {
            return;
        }
        self.replies.array(keys.len());
        for (n, key) in keys.iter().enumerate() {
            self.add((Op::Retrieve, key, &[]), Answer::Element { is_last: n + 1 == keys.len() });
        }
    }

    fn counted(&mut self, op: Op, keys: Args<'i, '_>) {
        self.run.begin_several(self.store, self.replies);
        if self.run.go_back().is_some() {
            return;
        }
        for (n, key) in keys.iter().enumerate() {
            self.add((op, key, &[]), Answer::Counted { is_last: n + 1 == keys.len() });
        }
    }

    fn single(&mut self, request: &Request<'i, '_>) {
        let Self { store, session, replies, .. } = self;
        match request {
            Request::Get(key) => store.get(key, replies),
            Request::Set { key, value, condition, returns_old: false } => {
                store.set(key, value, *condition, replies)
            }
            Request::Set { key, value, condition, returns_old: true } => {
                store.replace(key, value, *condition, replies)
            }
            Request::MultiSet(pairs) => store.set_all(*pairs, replies),
            Request::Length(key) => store.length(key, replies),
            Request::Scan(scan) => store.scan(scan, replies),
            Request::Size => store.size(replies),
            Request::Clear => store.clear(replies),
            Request::Wait | Request::WaitLocal => {
                flush(store, matches!(request, Request::WaitLocal), replies)
            }
            Request::Info(sections) => about::info(*sections, &session.front, store, replies),
            request => connection(request, session, replies),
        }
    }
}

/// Commands that are not about pairs.
fn connection(request: &Request<'_, '_>, session: &mut Session, replies: &mut Replies) {
    match request {
        Request::Ping(None) => replies.simple("PONG"),
        Request::Ping(Some(text)) | Request::Echo(text) => replies.bulk(text),
        Request::Select => replies.ok(),
        Request::Hello(hello) => session.hello(hello, replies),
        Request::Auth(auth) => session.auth(auth, replies),
        Request::ConfigGet(patterns) => about::config(*patterns, &session.front, replies),
        Request::Command(request) => session::command(request, replies),
        Request::Client(request) => session.client(request, replies),
        Request::Reset => session.reset(replies),
        Request::Quit => {
            session.has_quit = true;
            replies.ok();
        }
        other => replies.error(format_args!("ERR {other:?} has no place here")),
    }
}

/// `WAIT`, `WAITAOF`: what was acknowledged is on the medium, which counts as one copy.
fn flush(store: &mut Store, is_local: bool, replies: &mut Replies) {
    match store.flush() {
        Err(error) => errors::write(&error, replies),
        Ok(()) if is_local => {
            replies.array(2);
            replies.integer(1);
            replies.integer(0);
        }
        Ok(()) => replies.integer(1),
    }
}

const fn is_key(key: &[u8]) -> bool {
    !key.is_empty() && key.len() <= KEY_BYTES_MAX
}

/// The length of a key that cannot be one.
fn wrong_key(request: &Request<'_, '_>) -> Option<usize> {
    let wrong = |key: &[u8]| (!is_key(key)).then_some(key.len());
    match request {
        Request::Get(key) | Request::Length(key) | Request::Set { key, .. } => wrong(key),
        Request::MultiGet(keys) | Request::Delete(keys) | Request::Exists(keys) => {
            keys.iter().find_map(wrong)
        }
        Request::MultiSet(pairs) => pairs.pairs().find_map(|(key, _)| wrong(key)),
        _ => None,
    }
}
