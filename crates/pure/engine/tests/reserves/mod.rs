// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reserves: the tables of the engines under a model of their activities, and engines that have nothing else left.

mod both;
mod model;
mod repairs;
mod tables;
