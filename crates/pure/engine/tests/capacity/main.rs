//! What a store holds does not depend on what was in it before: long records that were deleted or replaced make room.

mod bench;
mod formula;
mod long;
