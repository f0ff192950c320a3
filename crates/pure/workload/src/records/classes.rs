// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Records grouped by the size of their values.

use super::RecordSet;

/// Records whose values have from `bytes_min` to `bytes_max` bytes: a power of two and what is above the one below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeClass {
    /// Smallest value of the class, in bytes.
    pub bytes_min: usize,
    /// Largest value of the class, in bytes.
    pub bytes_max: usize,
    /// Records in it.
    pub records: usize,
    /// Sum of their value bytes.
    pub value_bytes: usize,
}

/// The class of a value: 0 for none and one byte, then one for each power of two.
const fn class_of(value_bytes: usize) -> usize {
    match value_bytes {
        0 | 1 => 0,
        n => (usize::BITS - (n - 1).leading_zeros()) as usize,
    }
}

impl SizeClass {
    const fn empty(class: usize) -> Self {
        let bytes_min = if class == 0 { 0 } else { (1 << (class - 1)) + 1 };
        Self { bytes_min, bytes_max: 1 << class, records: 0, value_bytes: 0 }
    }
}

impl RecordSet {
    /// The classes that have records, smallest first: values of 0 to 1 bytes, 2, 3 to 4, 5 to 8, 9 to 16, ...
    pub fn size_classes(&self) -> Vec<SizeClass> {
        let mut classes: Vec<SizeClass> = Vec::new();
        for record in self.iter() {
            let index = class_of(record.value.len());
            (classes.len()..=index).for_each(|class| classes.push(SizeClass::empty(class)));
            classes[index].records += 1;
            classes[index].value_bytes += record.value.len();
        }
        classes.retain(|class| class.records > 0);
        classes
    }
}
