//! What the command line needs of the rest of the program.

use std::path::Path;

use saker_conform::{Finding, Report};
use saker_lab::bench::BenchReport;
use saker_lab::run::Progress;
use saker_lab::{Experiment, Settings};
use saker_sim::profile::Profile;
use saker_workload::RecordSet;

use crate::commands::bench::BenchArgs;
use crate::commands::compare::CompareArgs;
use crate::commands::create::CreateArgs;
use crate::commands::serve::{ServeArgs, Serving};
use crate::error::CliError;
use crate::report::{Calibrated, CheckReport, Comparison, CreateReport, Listed, LossReport};
use crate::store::{BlockStore, Store};

/// Takes a key and its value; an error ends what calls it.
pub type SeePair<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<(), CliError>;

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

    /// Examines a device; `heard` is told each finding as it comes.
    ///
    /// # Errors
    /// As [`Backend::open`]; `Failed` if the device stops answering.
    fn conform(&self, url: &str, heard: &mut dyn FnMut(&Finding)) -> Result<Report, CliError> {
        let _ = heard;
        Err(CliError::usage(format!("there is no queue to `{url}`"), "name another device"))
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

    /// Reads what is sound of the key-value namespace of a damaged image, and tells what is lost. `uncertain`: also what may
    /// be older than something that was lost.
    ///
    /// # Errors
    /// `Usage` for a URL that is no image's, `Failed` when it cannot be read at all, and those of `see`.
    fn salvage(&self, url: &str, uncertain: bool, see: SeePair<'_>) -> Result<LossReport, CliError> {
        let _ = (uncertain, see);
        Err(CliError::usage(format!("`{url}` is no image"), "name one with --device file:disk.img"))
    }

    /// Makes image `new` of what is sound in image `old`; `progress` hears of pairs and blocks copied.
    ///
    /// # Errors
    /// `File` or `Failed` when one cannot be read or the other not be made.
    fn repair(&self, old: &Path, new: &Path, progress: &mut dyn FnMut(u64)) -> Result<LossReport, CliError> {
        let _ = (new, progress);
        Err(CliError::usage(format!("`{}` is no image", old.display()), "name one"))
    }

    /// Runs one workload on HostKV, DiskKV and DiskKV+Saker: the records of `args.input`, or pairs that it makes. `note` takes
    /// one line of progress.
    ///
    /// # Errors
    /// `Usage` for arguments that make no sense, `Failed` otherwise.
    fn compare(
        &self,
        args: &CompareArgs,
        records: Option<RecordSet>,
        note: &mut dyn FnMut(&str),
    ) -> Result<Comparison, CliError>;

    /// Serves devices to the network until a signal says stop. `ready` is told when hosts can connect.
    ///
    /// # Errors
    /// `Usage` for a configuration that makes no sense, `Failed` otherwise.
    fn serve(&self, args: &ServeArgs, ready: &mut dyn FnMut(&Serving)) -> Result<(), CliError>;

    /// Runs a workload: in virtual time, or on the device of a URL.
    ///
    /// # Errors
    /// `Usage` for arguments that make no sense, `Failed` otherwise.
    fn bench(&self, args: &BenchArgs, device: Option<&str>) -> Result<BenchReport, CliError>;

    /// Measures the methods of transfer on a profile, in virtual time.
    ///
    /// # Errors
    /// `Failed` when the profile makes no device.
    fn calibrate(&self, profile: &Profile, passthrough: bool) -> Result<Calibrated, CliError>;

    /// The experiments there are.
    fn experiments(&self) -> Vec<Listed>;

    /// Runs experiments of [`Backend::experiments`], each with each of the settings, on `threads` threads; settings
    /// within experiments. A claim that does not hold is a verdict, no error. `note` hears of progress.
    ///
    /// # Errors
    /// `Usage` for settings that cannot be made, `Failed` otherwise.
    fn reproduce(
        &self,
        ids: &[String],
        settings: &[Settings],
        threads: usize,
        note: &mut dyn FnMut(Progress),
    ) -> Result<Vec<Experiment>, CliError>;
}
