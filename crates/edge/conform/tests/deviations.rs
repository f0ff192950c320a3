// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The suite passes on a device that conforms, and fails on each planted deviation, in the clause it is about.

use saker_conform::{Answer, Broken, Data, OpenedSubject, Report, Subject, run};
use saker_nvme::{Sqe, Status, kv};

const DEVICE: &str = "mem:?size=512MiB";

/// Changes the answer to a command.
type Alter = fn(&Sqe, &mut Answer);

/// Does something else than the command says; `None` carries the command out.
type Deed = fn(&mut OpenedSubject, &Sqe, &Data) -> Option<Result<Answer, Broken>>;

/// A device whose commands and answers are altered on their way.
struct Deviant {
    inner: OpenedSubject,
    deviation: Deed,
    alter: Alter,
    alter_admin: Alter,
}

impl Deviant {
    fn new(alter: Alter) -> Self {
        let inner = OpenedSubject::open(DEVICE).expect("a device");
        Self { inner, deviation: |_, _, _| None, alter, alter_admin: |_, _| {} }
    }

    fn report(mut self) -> Report {
        run(&mut self, |_| {}).expect("it answers")
    }
}

impl Subject for Deviant {
    fn nsid(&self) -> u32 {
        self.inner.nsid()
    }

    fn transfer_bytes_max(&self) -> u32 {
        self.inner.transfer_bytes_max()
    }

    fn is_direct(&self) -> bool {
        true
    }

    fn admin(&mut self, sqe: &Sqe, room: u32) -> Result<Answer, Broken> {
        let mut answer = self.inner.admin(sqe, room)?;
        (self.alter_admin)(sqe, &mut answer);
        Ok(answer)
    }

    fn io(&mut self, commands: Vec<(Sqe, Data)>) -> Result<Vec<Answer>, Broken> {
        let mut answers = Vec::new();
        for (sqe, data) in commands {
            let mut answer = match (self.deviation)(&mut self.inner, &sqe, &data) {
                Some(answer) => answer?,
                None => self.inner.io(vec![(sqe, data)])?.remove(0),
            };
            (self.alter)(&sqe, &mut answer);
            answers.push(answer);
        }
        Ok(answers)
    }
}

fn failed(report: &Report) -> Vec<&str> {
    report.findings.iter().filter(|f| f.verdict.word() == "FAIL").map(|f| f.id).collect()
}

fn is(sqe: &Sqe, opcode: u8) -> bool {
    sqe.opcode == opcode
}

#[test]
fn our_own_device_conforms() {
    let mut subject = OpenedSubject::open(DEVICE).expect("a device");
    let mut heard = 0;
    let report = run(&mut subject, |_| heard += 1).expect("it answers");
    assert_eq!(failed(&report), [""; 0], "{:#?}", report.findings);
    assert_eq!(heard, report.findings.len());
    assert!(report.count("pass") >= 38, "{} pass, {} skipped", report.count("pass"), report.count("skipped"));
    subject.close().expect("closed");
}

/// A store over both namespaces tells of itself what holds for it, and not what holds for the device below.
#[test]
fn a_store_over_both_interfaces_conforms() {
    for policy in ["eager", "lazy", "adaptive"] {
        let url = format!("mem:?profile=tiny&size=96MiB&hybrid={policy}");
        let mut subject = OpenedSubject::open(&url).expect("a device");
        let report = run(&mut subject, |_| {}).expect("it answers");
        assert_eq!(failed(&report), [""; 0], "{policy}: {:#?}", report.findings);
        subject.close().expect("closed");
    }
}

#[test]
fn it_leaves_nothing_behind() {
    let mut subject = OpenedSubject::open(DEVICE).expect("a device");
    run(&mut subject, |_| {}).expect("it answers");
    let mut list = Sqe::new(kv::opcode::LIST, subject.nsid());
    list.cdw10 = 4096.into();
    let answer = subject.io(vec![(list, Data::Receive(4096))]).expect("it answers").remove(0);
    assert_eq!(answer.data[..4], [0; 4], "keys are left");
}

#[test]
fn planted_answers_are_found() {
    let planted: [(&str, Alter); 12] = [
        ("retrieve-missing", |sqe, answer| {
            if is(sqe, kv::opcode::RETRIEVE) && answer.status.is(Status::KEY_DOES_NOT_EXIST) {
                answer.status = Status::INVALID_FIELD;
            }
        }),
        ("retrieve-short", |sqe, answer| {
            if is(sqe, kv::opcode::RETRIEVE) {
                answer.dw0 = answer.dw0.min(sqe.cdw10.get());
            }
        }),
        ("retrieve-long", |sqe, answer| {
            if is(sqe, kv::opcode::RETRIEVE) && answer.dw0 < sqe.cdw10.get() {
                answer.data.iter_mut().skip(answer.dw0 as usize).for_each(|byte| *byte = 0xAA);
            }
        }),
        ("value-sizes", |sqe, answer| {
            if is(sqe, kv::opcode::RETRIEVE) && sqe.cdw10.get() > 65_536 {
                answer.data[65_536] ^= 1;
            }
        }),
        ("key-too-long", |sqe, answer| {
            if is(sqe, kv::opcode::STORE) && sqe.cdw11.get() & 0xFF > 16 {
                answer.status = Status::INVALID_KEY_SIZE;
            }
        }),
        ("store-must-not-exist", |sqe, answer| {
            if is(sqe, kv::opcode::STORE) && answer.status.is(Status::KEY_EXISTS) {
                answer.status = Status::SUCCESS;
            }
        }),
        ("list-aligned", |sqe, answer| {
            // Without padding: entries follow each other at once.
            if is(sqe, kv::opcode::LIST) && answer.data.len() > 12 {
                answer.data.copy_within(12.., 11);
            }
        }),
        ("list-stable", |sqe, answer| {
            if is(sqe, kv::opcode::LIST) && sqe.cdw10.get() == 300 && answer.data.len() > 4 {
                answer.data[0] = answer.data[0].saturating_sub(1);
            }
        }),
        ("opcode-unknown", |sqe, answer| {
            if is(sqe, 0x5C) {
                answer.status = Status::SUCCESS;
            }
        }),
        ("exist", |sqe, answer| {
            if is(sqe, kv::opcode::EXIST) && answer.status.is_success() {
                answer.status = Status::new(1, 0x87);
            }
        }),
        ("flush", |sqe, answer| {
            if is(sqe, kv::opcode::FLUSH) {
                answer.status = Status::INVALID_OPCODE;
            }
        }),
        ("namespace-missing", |sqe, answer| {
            if sqe.nsid.get() == 0 {
                answer.status = Status::INVALID_FIELD;
            }
        }),
    ];
    for (clause, alter) in planted {
        let report = Deviant::new(alter).report();
        assert!(failed(&report).contains(&clause), "{clause}: only {:?}", failed(&report));
        assert!(!report.is_conforming());
    }
}

#[test]
fn planted_deeds_are_found() {
    let planted: [(&str, Deed); 4] = [
        // The key's length is not part of the key.
        ("key-extended", |inner, sqe, data| {
            let mut sqe = *sqe;
            let length = sqe.cdw11.get();
            sqe.cdw11 = (length & !0xFF | 16).into();
            let is_short = sqe.opcode != kv::opcode::LIST && (1..16).contains(&(length & 0xFF));
            is_short.then(|| inner.io(vec![(sqe, data.clone())]).map(|mut answers| answers.remove(0)))
        }),
        // Options are ignored.
        ("store-must-exist", |inner, sqe, data| {
            let mut sqe = *sqe;
            sqe.cdw11 = (sqe.cdw11.get() & 0xFF).into();
            is(&sqe, kv::opcode::STORE)
                .then(|| inner.io(vec![(sqe, data.clone())]).map(|mut answers| answers.remove(0)))
        }),
        // Delete does nothing.
        ("delete", |_, sqe, _| {
            is(sqe, kv::opcode::DELETE).then_some(Ok(Answer {
                status: Status::SUCCESS,
                dw0: 0,
                data: Vec::new(),
            }))
        }),
        // Empty values are refused.
        ("value-empty", |_, sqe, _| {
            (is(sqe, kv::opcode::STORE) && sqe.cdw10.get() == 0).then_some(Ok(Answer {
                status: Status::INVALID_VALUE_SIZE,
                dw0: 0,
                data: Vec::new(),
            }))
        }),
    ];
    for (clause, deviation) in planted {
        let report = Deviant { deviation, ..Deviant::new(|_, _| {}) }.report();
        assert!(failed(&report).contains(&clause), "{clause}: only {:?}", failed(&report));
    }
}

#[test]
fn planted_admin_answers_are_found() {
    let planted: [(&str, Alter); 4] = [
        // NKVF as a count: one format would be two.
        ("identify-reserved", |sqe, answer| {
            if sqe.opcode == 6 && sqe.cdw10.get() as u8 == 5 && answer.data.len() > 400 {
                answer.data[400] = 1;
            }
        }),
        ("identify-effects", |sqe, answer| {
            if sqe.opcode == 2 && answer.data.len() == 4096 {
                answer.data[1024 + 4] = 1;
            }
        }),
        ("delete-ednek-1", |sqe, answer| {
            if sqe.opcode == 0x0A && answer.data.is_empty() {
                answer.dw0 = 0;
            }
        }),
        ("identify-ready", |sqe, answer| {
            if sqe.opcode == 6 && sqe.cdw10.get() as u8 == 8 {
                answer.data[14] = 0;
            }
        }),
    ];
    for (clause, alter_admin) in planted {
        let report = Deviant { alter_admin, ..Deviant::new(|_, _| {}) }.report();
        assert!(failed(&report).contains(&clause), "{clause}: only {:?}", failed(&report));
    }
}
