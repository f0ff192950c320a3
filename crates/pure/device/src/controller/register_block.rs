// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Controller registers: enable, disable, shutdown, subsystem reset (Base 2.0, sections 3.1.3, 3.5 and 3.6).
//!
//! The block is plain storage that the host writes at any time, so the machine looks at levels, not at writes: it
//! compares what the registers say with the state it is in. A write that is overwritten before the controller looks is
//! lost, which only a host that does not wait for CSTS can bring about.

use saker_link::{Registers, offset};
use saker_nvme::regs::{Aqa, Cap, Cc, Csts, NSSR_RESET, Vs};

use super::identity::PAGE_BYTES;
use super::namespace::CommandSets;

/// IOSQES and IOCQES: log2 of 64 and 16 bytes.
const ENTRY_SIZES: (u8, u8) = (6, 4);

/// How a host announces a shutdown (CC.SHN).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShutdownKind {
    /// 01b: flush and stop.
    Normal,
    /// 10b: stop as fast as possible; power is about to go.
    Abrupt,
}

/// What the host's register writes ask of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegisterAction {
    /// Nothing.
    None,
    /// Make the admin queues, then [`Controller::ready`](super::Controller::ready), or
    /// [`Controller::fail`](super::Controller::fail).
    Enable {
        /// Base of the admin submission queue, page aligned.
        asq: u64,
        /// Base of the admin completion queue, page aligned.
        acq: u64,
        /// Entries of the admin submission queue, 2 to 4096.
        asq_entries: u32,
        /// Entries of the admin completion queue, 2 to 4096.
        acq_entries: u32,
    },
    /// Drop every queue and command, then [`Controller::disabled`](super::Controller::disabled).
    Disable,
    /// Make data safe, then [`Controller::shutdown_done`](super::Controller::shutdown_done).
    Shutdown(ShutdownKind),
    /// As [`RegisterAction::Disable`], for every controller of the subsystem.
    SubsystemReset,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Disabled,
    /// The device makes the admin queues.
    Enabling,
    Ready,
    /// CSTS.CFS is set; only a reset helps.
    Failed,
    /// The device drops its queues.
    Disabling,
}

/// The state machine behind the registers.
#[derive(Debug)]
pub(super) struct RegisterBlock {
    cap: Cap,
    state: State,
    csts: Csts,
    /// CC.SHN as last acted upon: a shutdown begins when it changes.
    shn: u8,
    sets: CommandSets,
}

impl RegisterBlock {
    pub fn new(cap: Cap) -> Self {
        let (csts, sets) = (Csts::default(), CommandSets::default());
        Self { cap, state: State::Disabled, csts, shn: 0, sets }
    }

    pub const fn sets(&self) -> CommandSets {
        self.sets
    }

    pub const fn csts(&self) -> Csts {
        self.csts
    }

    /// Writes the registers that are the controller's.
    pub fn publish(&self, regs: &Registers) {
        regs.publish_u64(offset::CAP, self.cap.0).expect("the block has CAP");
        write(regs, offset::VS, Vs::V2_0.0);
        write(regs, offset::CSTS, self.csts.0);
    }

    /// The next thing that the registers ask for.
    pub fn step(&mut self, regs: &Registers) -> RegisterAction {
        self.take_back(regs);
        let reset = read(regs, offset::NSSR) == NSSR_RESET;
        write(regs, offset::NSSR, 0);
        let action = if reset { self.reset_subsystem(regs) } else { self.follow(regs) };
        self.publish(regs);
        action
    }

    /// CSTS.NSSRO is cleared by writing 1. In plain storage that write shows only if it differs from what was there.
    fn take_back(&mut self, regs: &Registers) {
        let written = Csts(read(regs, offset::CSTS));
        if written != self.csts && written.nssro() {
            self.csts = self.csts.with_nssro(false);
        }
    }

    /// A subsystem reset puts even the admin queue registers back to zero, which EN = 0 leaves alone.
    fn reset_subsystem(&mut self, regs: &Registers) -> RegisterAction {
        write(regs, offset::CC, 0);
        write(regs, offset::AQA, 0);
        for base in [offset::ASQ, offset::ACQ] {
            regs.publish_u64(base, 0).expect("the block has the queue bases");
        }
        self.csts = self.csts.with_nssro(true);
        self.state = State::Disabling;
        RegisterAction::SubsystemReset
    }

    /// A reset comes before a shutdown and a shutdown before a start, if the host asks for both at once.
    fn follow(&mut self, regs: &Registers) -> RegisterAction {
        let cc = Cc(read(regs, offset::CC));
        if !cc.en() && matches!(self.state, State::Enabling | State::Ready | State::Failed) {
            self.state = State::Disabling;
            return RegisterAction::Disable;
        }
        if let Some(kind) = self.shutdown_begins(cc) {
            self.csts = self.csts.with_shst(Csts::SHST_OCCURRING);
            return RegisterAction::Shutdown(kind);
        }
        if cc.en() && self.state == State::Disabled { self.enable(cc, regs) } else { RegisterAction::None }
    }

    fn shutdown_begins(&mut self, cc: Cc) -> Option<ShutdownKind> {
        let before = std::mem::replace(&mut self.shn, cc.shn());
        match cc.shn() {
            shn if shn == before => None,
            0b01 => Some(ShutdownKind::Normal),
            0b10 => Some(ShutdownKind::Abrupt),
            _ => None,
        }
    }

    fn enable(&mut self, cc: Cc, regs: &Registers) -> RegisterAction {
        let Some((sets, queues)) = command_sets(cc).zip(admin_queues(regs)) else {
            self.fail();
            return RegisterAction::None;
        };
        self.sets = sets;
        self.state = State::Enabling;
        self.csts = self.csts.with_shst(Csts::SHST_NORMAL);
        queues
    }

    fn fail(&mut self) {
        self.state = State::Failed;
        self.csts = self.csts.with_cfs(true);
    }

    /// The admin queues are there. Of no effect unless the host still waits for them.
    pub fn ready(&mut self, regs: &Registers) {
        if self.state == State::Enabling {
            self.state = State::Ready;
            self.csts = self.csts.with_rdy(true);
            self.publish(regs);
        }
    }

    /// A fatal error, of which only a reset helps. Of no effect where there is nothing to reset.
    pub fn fatal(&mut self, regs: &Registers) {
        if matches!(self.state, State::Enabling | State::Ready) {
            self.fail();
            self.publish(regs);
        }
    }

    /// The queues are gone: RDY, CFS and SHST clear. Returns whether that was asked for.
    pub fn disabled(&mut self, regs: &Registers) -> bool {
        if self.state != State::Disabling {
            return false;
        }
        self.state = State::Disabled;
        self.csts = Csts::default().with_nssro(self.csts.nssro());
        self.publish(regs);
        true
    }

    /// The data is safe. Of no effect unless the host waits for that.
    pub fn shutdown_done(&mut self, regs: &Registers) {
        if self.csts.shst() == Csts::SHST_OCCURRING {
            self.csts = self.csts.with_shst(Csts::SHST_COMPLETE);
            self.publish(regs);
        }
    }
}

/// The command sets that CC asks for, if the whole of CC can be granted. Without I/O command sets the entry sizes may
/// be left zero.
fn command_sets(cc: Cc) -> Option<CommandSets> {
    let sets = CommandSets::decode(cc.css())?;
    let sizes = (cc.iosqes(), cc.iocqes());
    let sizes_fit = sizes == ENTRY_SIZES || (sets == CommandSets::AdminOnly && sizes == (0, 0));
    (sizes_fit && cc.page_bytes() == PAGE_BYTES && cc.ams() == 0 && cc.shn() == 0).then_some(sets)
}

/// The admin queues that AQA, ASQ and ACQ describe, if they make sense.
fn admin_queues(regs: &Registers) -> Option<RegisterAction> {
    let aqa = Aqa(read(regs, offset::AQA));
    let base = |at| regs.load_u64(at).expect("the block has the queue bases");
    let (asq, acq) = (base(offset::ASQ), base(offset::ACQ));
    let aligned = (asq | acq).is_multiple_of(u64::from(PAGE_BYTES));
    // A ring of one entry could never hold a command.
    let large_enough = aqa.asqs() > 0 && aqa.acqs() > 0;
    let (asq_entries, acq_entries) = (u32::from(aqa.asqs()) + 1, u32::from(aqa.acqs()) + 1);
    (aligned && large_enough).then_some(RegisterAction::Enable { asq, acq, asq_entries, acq_entries })
}

fn read(regs: &Registers, at: u32) -> u32 {
    regs.load_u32(at).expect("the block has every register used here")
}

fn write(regs: &Registers, at: u32, value: u32) {
    regs.publish_u32(at, value).expect("the block has every register used here");
}
