// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Outcomes for hosts that may only read: they are told what became of a transaction, and write nothing of one.

use super::splits::{ENGINES, device, id};
use super::support::{config, open, url};
use saker::{HostError, Kv, KvError, SplitOutcome, TransactionEnd};
use saker_tcp::{HostRules, Server};

const READER: &str = "nqn.2026-11.dev.saker:reader";

#[test]
fn a_host_that_may_only_read_may_ask() {
    for engine in ENGINES {
        let mut config = config(&device(engine));
        let rules = HostRules { nqn: READER.into(), read_only: Some(true), ..HostRules::default() };
        config.host_rules = vec![rules];
        let server = Server::start(config).expect("the server starts");
        let mut writer = open(&server, "");
        let mut reader = Kv::open(&url(&server, &format!("hostnqn={READER}"))).expect("connected");
        for number in [1, 3, 4400] {
            let mut txn = writer.begin_transaction().expect("it has them");
            txn.put(b"key", &[number as u8]).expect("a good key");
            assert_eq!(txn.commit_as(id(1, number)), Ok(TransactionEnd::Done), "{engine}");
        }
        let told = [4400, 4399, 3, 2].map(|number| reader.transaction_outcome(id(1, number)));
        let forgotten = Err(HostError::Kv(KvError::Forgotten));
        let expected =
            [Ok(SplitOutcome::DoneBefore), Ok(SplitOutcome::NotDone), forgotten.clone(), forgotten];
        assert_eq!(told, expected, "{engine}");
        assert_eq!(reader.transaction_outcome(id(2, 1)), Ok(SplitOutcome::NotDone), "{engine}");
        let protected = Err(HostError::Kv(KvError::WriteProtected));
        let mut txn = reader.begin_transaction().expect("it has them");
        txn.put(b"key", b"never").expect("a good key");
        assert_eq!(txn.commit_as(id(2, 1)), protected, "{engine}");
        assert_eq!(reader.begin_transaction().expect("it has them").commit_as(id(2, 2)), protected);
        let mut txn = reader.begin_transaction().expect("it has them");
        assert_eq!(txn.get(b"key"), Ok(Some(vec![4400_u64 as u8])), "{engine}");
        assert_eq!(txn.commit(), Ok(()), "{engine}: it only reads");
        assert_eq!(writer.get(b"key"), Ok(Some(vec![4400_u64 as u8])), "{engine}");
        server.stop().expect("stops");
    }
}
