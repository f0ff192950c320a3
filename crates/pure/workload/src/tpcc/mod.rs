// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TPC-C's New-Order and Payment over key-value pairs, as SAKER (SYSTOR'25, section 4) runs them: they are 45 and 43 of 100
//! transactions.
//!
//! Each row is a pair; keys have 8 bytes, values the lengths of clause 4.2.2.2 of the TPC-C standard (revision 5.11).
//! Selections are its NURand (clause 2.1.6). A New-Order reads warehouse, district and customer, and an item and its stock
//! for each line; it writes the district, the order, a new-order row and the lines. A Payment reads and writes warehouse,
//! district and customer, and writes a history row; by last name (60 of 100) it reads an index row first. Orders that are
//! rolled back (1 of 100) are left out.
//!
//! What a line does besides is not clear in the paper, so there are two readings ([`Lines`]).

mod rows;
mod transactions;

pub use rows::{Row, Table};
pub use transactions::{Kind, Step, Transaction, Transactions};

use transactions::TERMINALS_MAX;

/// What an order line writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// The ORDER-LINE row only, as the paper says: about 60 reads and 40 writes in 100.
    OrderLine,
    /// The STOCK row, too, as the standard requires (clause 2.4.2.2): about as many writes as reads.
    OrderLineAndStock,
}

/// A database and what is done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tpcc {
    /// Warehouses, up to 65,535.
    pub warehouses: u32,
    /// Items, and stock rows of a warehouse: 100,000 in the standard. Less scales every warehouse down.
    pub items: u32,
    /// Customers of a district: 3,000 in the standard.
    pub customers: u32,
    /// What a line writes.
    pub lines: Lines,
    /// The seed.
    pub seed: u64,
}

/// Districts of a warehouse (clause 1.2.1).
pub const DISTRICTS: u32 = 10;
/// Last names (clause 4.3.2.3), of which a database scaled down has its share.
const LAST_NAMES: u32 = 1000;
/// Items and customers of the standard (clause 1.2.1).
pub const ITEMS: u32 = 100_000;
/// Customers of a district in the standard.
pub const CUSTOMERS: u32 = 3_000;

impl Tpcc {
    /// A database whose warehouses are `scale` times smaller than the standard's.
    pub fn scaled(warehouses: u32, scale: u32, lines: Lines, seed: u64) -> Self {
        let items = (ITEMS / scale).max(10);
        Self { warehouses, items, customers: (CUSTOMERS / scale).max(3), lines, seed }
    }

    /// Last names of a district's customers.
    pub const fn last_names(&self) -> u32 {
        let scaled = (LAST_NAMES as u64 * self.customers as u64 / CUSTOMERS as u64) as u32;
        if scaled == 0 { 1 } else { scaled }
    }

    /// Every row that is there before the first transaction, of which transactions read.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        let all = *self;
        let of_district = move |w: u32, d: u32| {
            let customers = (0..all.customers).map(move |c| Row::customer(w, d, c));
            let names = (0..all.last_names()).map(move |n| Row::last_name(w, d, n));
            std::iter::once(Row::district(w, d)).chain(customers).chain(names)
        };
        let of_warehouse = move |w: u32| {
            let stock = (0..all.items).map(move |i| Row::stock(w, i));
            let districts = (0..DISTRICTS).flat_map(move |d| of_district(w, d));
            std::iter::once(Row::warehouse(w)).chain(stock).chain(districts)
        };
        (0..self.items).map(Row::item).chain((0..self.warehouses).flat_map(of_warehouse))
    }

    /// Transactions without end, each of a warehouse that it draws.
    pub fn transactions(&self) -> Transactions {
        Transactions::new(self)
    }

    /// Transactions without end, of so many terminals in turn. A terminal keeps its home warehouse; the first terminals have the first
    /// warehouses.
    pub fn terminals(&self, count: u32) -> impl Iterator<Item = Transaction> + use<> {
        let count = count.clamp(1, TERMINALS_MAX);
        let mut all: Vec<Transactions> =
            (0..count).map(|terminal| Transactions::of_terminal(self, terminal)).collect();
        (0..all.len()).cycle().filter_map(move |terminal| all[terminal].next())
    }
}

#[cfg(test)]
mod tests;
