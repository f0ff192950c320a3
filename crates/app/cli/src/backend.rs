//! What the command line needs of the rest of the program.

use std::path::Path;

use crate::commands::compare::CompareArgs;
use crate::commands::create::CreateArgs;
use crate::error::CliError;
use crate::report::{CheckReport, Comparison, CreateReport, Experiment, Listed};
use crate::store::{BlockStore, Store};

/// Devices, images and experiments. The commands do the arguments and the output, this does the work.
pub trait Backend {
    /// Opens the device of a URL.
    ///
    /// # Errors
    /// `Usage` for a URL that makes no sense, `Failed` for a device that cannot be opened.
    fn open(&self, url: &str) -> Result<Box<dyn Store>, CliError>;

    /// Opens the block namespace of a URL.
    ///
    /// # Errors
    /// As [`Backend::open`].
    fn open_block(&self, url: &str) -> Result<Box<dyn BlockStore>, CliError> {
        Err(CliError::usage(format!("there are no block namespaces at `{url}`"), "name another device"))
    }

    /// What the device of a URL says of itself, as a JSON object.
    ///
    /// # Errors
    /// As [`Backend::open`].
    fn info(&self, url: &str) -> Result<serde_json::Value, CliError> {
        let mut store = self.open(url)?;
        let info = store.info();
        let closed = store.close();
        info.and_then(|info| closed.map(|()| info))
    }

    /// Makes an image file.
    ///
    /// # Errors
    /// `Usage` for a size or a name that makes no sense, `File` or `Failed` otherwise.
    fn create(&self, args: &CreateArgs) -> Result<CreateReport, CliError>;

    /// Verifies an image file without changing it. Damage is a finding, no error.
    ///
    /// # Errors
    /// `File` or `Failed` when it cannot be read at all.
    fn check(&self, image: &Path) -> Result<CheckReport, CliError>;

    /// Runs one workload on HostKV, DiskKV and DiskKV+Saker. `note` takes one line of progress.
    ///
    /// # Errors
    /// `Usage` for arguments that make no sense, `File` for the input, `Failed` otherwise.
    fn compare(&self, args: &CompareArgs, note: &mut dyn FnMut(&str)) -> Result<Comparison, CliError>;

    /// The experiments there are.
    fn experiments(&self) -> Vec<Listed>;

    /// Runs one experiment of [`Backend::experiments`]; without `scale` or `seed`, at its own. A claim that does
    /// not hold is a verdict, no error.
    ///
    /// # Errors
    /// `Usage` for a scale that makes no sense, `Failed` otherwise.
    fn reproduce(&self, id: &str, scale: Option<u32>, seed: Option<u64>) -> Result<Experiment, CliError>;
}
