// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Suites of ordered stores with settings of the LSM store that are changed for all of their tests.

/// `how` changes the settings. Each name is a module with all tests that are listed, whose stores have that `min_blob_size`.
macro_rules! adapted_suite {
    ($how:ident, { $($name:ident: $size:expr;)* } $tests:tt) => {
        $(adapted_suite!(@one $how, $name, $size, $tests);)*
    };
    (@one $how:ident, $name:ident, $size:expr, { $($module:ident { $($test:ident)* })* }) => {
        mod $name {
            $($(#[test]
            fn $test() {
                crate::lsm::inside::adapt(super::$how);
                crate::lsm::inside::ask_for($size, None);
                crate::ordered::$module::$test::<saker_engine::LsmStore>();
            })*)*
        }
    };
}

pub(super) use adapted_suite;
