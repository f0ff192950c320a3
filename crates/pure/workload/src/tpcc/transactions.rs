// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions as reads and writes, in the order in which a program makes them.

use saker_sim::{Rng, Seed};

use super::rows::Row;
use super::{DISTRICTS, ITEMS, Lines, Tpcc};

/// Which transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// New-Order (clause 2.4).
    NewOrder,
    /// Payment (clause 2.5).
    Payment,
}

/// What a transaction does with a row. Nothing is written before what it depends on was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The row is read.
    Read(Row),
    /// The row is written.
    Write(Row),
}

/// One transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Which.
    pub kind: Kind,
    /// Its steps.
    pub steps: Vec<Step>,
}

/// A run of transactions.
#[derive(Clone, Debug)]
pub struct Transactions {
    tpcc: Tpcc,
    rng: Rng,
    /// The warehouse of all its transactions; `None`: each draws one.
    home: Option<u32>,
    /// Constants of NURand, drawn once (clause 2.1.6.1).
    c_item: u64,
    c_customer: u64,
    c_name: u64,
    /// The next order's number, by warehouse and district.
    next_order: Vec<u32>,
    payments: u64,
}

/// Shares of the two transactions in a hundred of all.
const NEW_ORDERS: u64 = 45;
const PAYMENTS: u64 = 43;
/// Numbers of orders that a terminal has for each district.
const TERMINAL_ORDERS: u32 = 1 << 20;
/// Terminals at most: their numbers of orders have 32 bits.
pub(super) const TERMINALS_MAX: u32 = u32::MAX / TERMINAL_ORDERS;

impl Transactions {
    pub(super) fn new(tpcc: &Tpcc) -> Self {
        let mut rng = Seed(tpcc.seed).child("tpcc").rng();
        let (c_item, c_customer, c_name) = (rng.below(8192), rng.below(1024), rng.below(256));
        let districts = (tpcc.warehouses * DISTRICTS) as usize;
        let next_order = vec![0; districts];
        Self { tpcc: *tpcc, rng, home: None, c_item, c_customer, c_name, next_order, payments: 0 }
    }

    /// Those of one terminal, which keeps its home warehouse (clause 2.4.1.1). The constants are those of the whole database; orders and
    /// payments have numbers that no other terminal gives.
    pub(super) fn of_terminal(tpcc: &Tpcc, terminal: u32) -> Self {
        let mut own = Self::new(tpcc);
        own.rng = Seed(tpcc.seed).child("tpcc terminal").index(terminal.into()).rng();
        own.home = Some(terminal % tpcc.warehouses);
        own.next_order.fill(terminal * TERMINAL_ORDERS);
        own.payments = u64::from(terminal * TERMINAL_ORDERS);
        own
    }

    fn warehouse(&mut self) -> u32 {
        self.home.unwrap_or_else(|| self.below(self.tpcc.warehouses))
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.rng.below(bound.into()) as u32
    }

    /// NURand over `0..count`, where the standard has `whole` of them and `or_bound - 1` as A: scaled with its range.
    fn skewed(&mut self, or_bound: u64, c: u64, count: u32, whole: u32) -> u32 {
        let or_bound = (or_bound * u64::from(count) / u64::from(whole)).max(1).next_power_of_two();
        let hot = self.rng.below(or_bound) | self.rng.below(count.into());
        ((hot + c) % u64::from(count)) as u32
    }

    fn customer(&mut self) -> u32 {
        self.skewed(1024, self.c_customer, self.tpcc.customers, super::CUSTOMERS)
    }

    fn new_order(&mut self) -> Vec<Step> {
        let (w, d) = (self.warehouse(), self.below(DISTRICTS));
        let customer = self.customer();
        let order = self.number_order(w, d);
        let mut steps = vec![
            Step::Read(Row::warehouse(w)),
            Step::Read(Row::district(w, d)),
            Step::Read(Row::customer(w, d, customer)),
            Step::Write(Row::district(w, d)),
            Step::Write(Row::order(w, d, order)),
            Step::Write(Row::new_order(w, d, order)),
        ];
        // 5 to 15 lines (clause 2.4.1.3).
        for line in 0..5 + self.below(11) {
            let item = self.skewed(8192, self.c_item, self.tpcc.items, ITEMS);
            let supplier = self.supplier(w);
            steps.extend([Step::Read(Row::item(item)), Step::Read(Row::stock(supplier, item))]);
            if self.tpcc.lines == Lines::OrderLineAndStock {
                steps.push(Step::Write(Row::stock(supplier, item)));
            }
            steps.push(Step::Write(Row::order_line(w, d, order, line)));
        }
        steps
    }

    fn number_order(&mut self, w: u32, d: u32) -> u32 {
        let next = &mut self.next_order[(w * DISTRICTS + d) as usize];
        *next += 1;
        *next
    }

    /// One line in a hundred is supplied by another warehouse (clause 2.4.1.5).
    fn supplier(&mut self, home: u32) -> u32 {
        if self.tpcc.warehouses > 1 && self.below(100) == 0 { self.other_than(home) } else { home }
    }

    fn other_than(&mut self, home: u32) -> u32 {
        (home + 1 + self.below(self.tpcc.warehouses - 1)) % self.tpcc.warehouses
    }

    fn payment(&mut self) -> Vec<Step> {
        let (w, d) = (self.warehouse(), self.below(DISTRICTS));
        // 15 in a hundred are by a customer of another warehouse (clause 2.5.1.2).
        let is_remote = self.tpcc.warehouses > 1 && self.below(100) < 15;
        let (cw, cd) = if is_remote { (self.other_than(w), self.below(DISTRICTS)) } else { (w, d) };
        let mut steps = vec![Step::Read(Row::warehouse(w)), Step::Read(Row::district(w, d))];
        let customer = if self.below(100) < 60 {
            let names = self.tpcc.last_names();
            let name = self.skewed(256, self.c_name, names, 1000);
            steps.push(Step::Read(Row::last_name(cw, cd, name)));
            // The middle one of those with the name.
            let with_it = (self.tpcc.customers / names).max(1);
            (name + with_it / 2 * names) % self.tpcc.customers
        } else {
            self.customer()
        };
        steps.push(Step::Read(Row::customer(cw, cd, customer)));
        self.payments += 1;
        steps.extend([
            Step::Write(Row::warehouse(w)),
            Step::Write(Row::district(w, d)),
            Step::Write(Row::customer(cw, cd, customer)),
            Step::Write(Row::history(w, d, self.payments)),
        ]);
        steps
    }
}

impl Iterator for Transactions {
    type Item = Transaction;

    fn next(&mut self) -> Option<Transaction> {
        Some(if self.rng.below(NEW_ORDERS + PAYMENTS) < NEW_ORDERS {
            Transaction { kind: Kind::NewOrder, steps: self.new_order() }
        } else {
            Transaction { kind: Kind::Payment, steps: self.payment() }
        })
    }
}
