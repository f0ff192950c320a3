//! The backend of the `saker` program: where the crates that do the work are joined in.

use std::path::Path;

use crate::backend::Backend;
use crate::commands::compare::CompareArgs;
use crate::commands::create::CreateArgs;
use crate::error::CliError;
use crate::report::{CheckReport, Comparison, CreateReport, Experiment, Listed};
use crate::store::Store;

/// The devices and experiments that this build contains.
#[derive(Clone, Copy, Debug)]
pub struct Linked;

impl Backend for Linked {
    fn open(&self, url: &str) -> Result<Box<dyn Store>, CliError> {
        Err(absent(&format!("device `{url}`")))
    }

    fn create(&self, _args: &CreateArgs) -> Result<CreateReport, CliError> {
        Err(absent("images"))
    }

    fn check(&self, _image: &Path) -> Result<CheckReport, CliError> {
        Err(absent("images"))
    }

    fn compare(&self, _args: &CompareArgs, _note: &mut dyn FnMut(&str)) -> Result<Comparison, CliError> {
        Err(absent("comparison"))
    }

    fn experiments(&self) -> Vec<Listed> {
        Vec::new()
    }

    fn reproduce(&self, id: &str, _scale: Option<u32>, _seed: Option<u64>) -> Result<Experiment, CliError> {
        Err(absent(&format!("experiment `{id}`")))
    }
}

fn absent(what: &str) -> CliError {
    CliError::failed(format!("this build has no {what}"), "use a release of saker")
}
