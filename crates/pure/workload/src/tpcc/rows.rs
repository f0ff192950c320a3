// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rows as pairs.

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Table {
    /// WAREHOUSE.
    Warehouse = 1,
    /// DISTRICT.
    District,
    /// CUSTOMER.
    Customer,
    /// Customers by last name: the index that Payment and Order-Status need.
    LastName,
    /// HISTORY.
    History,
    /// NEW-ORDER.
    NewOrder,
    /// ORDER.
    Order,
    /// ORDER-LINE.
    OrderLine,
    /// ITEM.
    Item,
    /// STOCK.
    Stock,
}

impl Table {
    /// Bytes of a row (clause 4.2.2.2); of the index, three customers' numbers.
    pub const fn row_bytes(self) -> u32 {
        match self {
            Self::Warehouse => 89,
            Self::District => 95,
            Self::Customer => 655,
            Self::LastName => 12,
            Self::History => 46,
            Self::NewOrder => 8,
            Self::Order => 24,
            Self::OrderLine => 54,
            Self::Item => 82,
            Self::Stock => 306,
        }
    }
}

/// A row: its table, and its key of 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// The table.
    pub table: Table,
    /// Table (4 bits), warehouse (16), district (4), the rest (40): in the order of the primary key.
    pub key: u64,
}

/// Lines of an order fit four bits.
const LINE_BITS: u32 = 4;

impl Row {
    fn new(table: Table, warehouse: u32, district: u32, rest: u64) -> Self {
        assert!(warehouse < 1 << 16 && district < 1 << 4 && rest < 1 << 40, "parts of a key have their bits");
        let place = u64::from(warehouse) << 44 | u64::from(district) << 40;
        Self { table, key: (table as u64) << 60 | place | rest }
    }

    pub(super) fn warehouse(w: u32) -> Self {
        Self::new(Table::Warehouse, w, 0, 0)
    }

    pub(super) fn district(w: u32, d: u32) -> Self {
        Self::new(Table::District, w, d, 0)
    }

    pub(super) fn customer(w: u32, d: u32, c: u32) -> Self {
        Self::new(Table::Customer, w, d, c.into())
    }

    pub(super) fn last_name(w: u32, d: u32, name: u32) -> Self {
        Self::new(Table::LastName, w, d, name.into())
    }

    pub(super) fn history(w: u32, d: u32, n: u64) -> Self {
        Self::new(Table::History, w, d, n)
    }

    pub(super) fn new_order(w: u32, d: u32, order: u32) -> Self {
        Self::new(Table::NewOrder, w, d, order.into())
    }

    pub(super) fn order(w: u32, d: u32, order: u32) -> Self {
        Self::new(Table::Order, w, d, order.into())
    }

    pub(super) fn order_line(w: u32, d: u32, order: u32, line: u32) -> Self {
        Self::new(Table::OrderLine, w, d, u64::from(order) << LINE_BITS | u64::from(line))
    }

    pub(super) fn item(item: u32) -> Self {
        Self::new(Table::Item, 0, 0, item.into())
    }

    pub(super) fn stock(w: u32, item: u32) -> Self {
        Self::new(Table::Stock, w, 0, item.into())
    }

    /// The pair's key.
    pub const fn key_bytes(&self) -> [u8; 8] {
        self.key.to_be_bytes()
    }

    /// Length of the pair's value in bytes.
    pub const fn value_bytes(&self) -> u32 {
        self.table.row_bytes()
    }
}
