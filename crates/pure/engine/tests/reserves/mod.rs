//! Reserves: the tables of the engines under a model of their activities, and engines that have nothing else left.

mod model;
mod repairs;
mod tables;
