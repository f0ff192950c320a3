// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A target as `saker serve` runs it.

use std::path::Path;

use saker_tcp::config::slow_after;
use saker_tcp::{
    ConfigError, LogFormat, RedisConfig, ServeError, Served, Server, ServerConfig, StopSignal, Word,
};

use super::functions::Function;
use super::scrubs::Scrubs;
use super::supervised::Supervised;
use crate::args::serve::ServeArgs;
use crate::error::{CliError, one_line};
use crate::report::Serving;

/// Serves devices to the network until a signal says stop; `ready` is told when hosts can connect.
///
/// # Errors
/// `Usage` for a configuration that makes no sense, `Failed` otherwise.
pub fn serve(args: &ServeArgs, ready: &mut dyn FnMut(&Serving)) -> Result<(), CliError> {
    let config = configuration(args)?;
    super::log::begin(&config.log)?;
    let mut stop =
        StopSignal::new().map_err(|error| CliError::failed(error.to_string(), "see the system's limits"))?;
    let urls: Vec<String> = config.subsystems.iter().map(|served| served.url.clone()).collect();
    let functions = functions(&config);
    let functions = saker_vfio_user::Server::start(&functions).map_err(|error| not_function(&error))?;
    let server = Server::start_beside(config, Function::all(&functions)).map_err(|error| match error {
        ServeError::Config(error) => in_file(args, &error),
        other => failed(&other),
    })?;
    let _scrubs = args.scrub.map(|rate| Scrubs::start(&urls, rate));
    let serving = Serving {
        addresses: server.addresses().iter().map(ToString::to_string).collect(),
        subsystems: server.names().to_vec(),
        vfio_user: functions.sockets().iter().map(|socket| socket.display().to_string()).collect(),
        redis: server.redis_addresses().iter().map(ToString::to_string).collect(),
        metrics: server.metrics_address().map(|address| format!("http://{address}/metrics")),
    };
    ready(&serving);
    let supervised = Supervised::begin(&server, &serving)?;
    while stop.wait() == Word::Reload {
        reload(&server, args);
    }
    drop(supervised);
    functions.stop().map_err(|error| not_function(&error))?;
    server.stop().map_err(|error| failed(&error))
}

/// Whether the configuration, its secrets and the URLs of its devices are sound.
///
/// # Errors
/// `Usage` says what is not.
pub fn check(args: &ServeArgs) -> Result<(), CliError> {
    let config = configuration(args)?;
    for served in &config.subsystems {
        let parsed = saker::DeviceUrl::parse(&served.url).map_err(saker::Error::from);
        let url = parsed.and_then(|url| saker::refuse_hybrid(&url).map(|()| url)).map_err(|error| {
            in_file(args, &ConfigError::new(format!("{}: {error}", served.place()), "see docs/urls.md"))
        })?;
        check_image(&url).map_err(|error| at_place(args, served, &error))?;
    }
    config.policies().map(drop).map_err(|error| in_file(args, &error))
}

/// An error of the work, with its place in the file.
fn at_place(args: &ServeArgs, served: &Served, error: &CliError) -> CliError {
    let (what, todo) = split(&error.to_string());
    let file = args.config.as_ref().map(|path| format!("{}: ", path.display())).unwrap_or_default();
    CliError::failed(format!("{file}{}: {what}", served.place()), todo)
}

/// Whether this user may use the image of a URL, which another process may have open.
fn check_image(url: &saker::DeviceUrl) -> Result<(), CliError> {
    let saker::Backing::File(path) = &url.place else { return Ok(()) };
    let opened = std::fs::OpenOptions::new().read(true).write(!url.readonly).open(path);
    opened.map(drop).map_err(CliError::file("open", path))
}

/// Reads the configuration again. What came of it is a line of the log, and an error of it if nothing did.
fn reload(server: &Server, args: &ServeArgs) {
    let reloaded = configuration(args).and_then(|mut config| {
        // Ports that the system has chosen stay.
        if config.listen.iter().all(|address| address.port() == 0) {
            config.listen = server.config().listen.clone();
        }
        server.reload(&config).map_err(|error| in_file(args, &error))
    });
    match reloaded {
        Ok(fixed) if fixed.is_empty() => tracing::info!("the configuration was read again"),
        Ok(fixed) => {
            let with_a_new_start = fixed.join(", ");
            tracing::warn!(with_a_new_start, "the configuration was read again; some settings change later");
        }
        Err(error) => {
            tracing::error!(error = %one_line(&error.to_string()), "the configuration stays as it was");
        }
    }
}

/// The file if there is one, and the arguments on top.
fn configuration(args: &ServeArgs) -> Result<ServerConfig, CliError> {
    let (mut config, mut hosts_stated) = match &args.config {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(CliError::file("read", path))?;
            ServerConfig::parse(&text).map_err(|error| in_file(args, &error))?
        }
        None => (ServerConfig::empty(), false),
    };
    let mut urls = args.image.iter().map(|image| image_url(image)).collect::<Result<Vec<_>, _>>()?;
    urls.extend(args.url.iter().cloned());
    config.subsystems.extend(urls.into_iter().map(|url| Served { url, ..Served::default() }));
    if config.subsystems.is_empty() {
        config
            .subsystems
            .extend(args.device.iter().map(|url| Served { url: url.clone(), ..Served::default() }));
    }
    for served in &mut config.subsystems {
        add_options(&mut served.url, args);
    }
    if let (Some(nqn), [only]) = (&args.nqn, config.subsystems.as_mut_slice()) {
        only.nqn = Some(nqn.clone());
    } else if args.nqn.is_some() {
        return Err(CliError::usage("one name is given for several devices", "name them in a --config file"));
    }
    function(&mut config, args)?;
    redis(&mut config, args)?;
    if !args.listen.is_empty() || config.listen.is_empty() {
        config.listen.clone_from(&args.listen);
    }
    // Who asks for Redis clients alone gets them alone.
    let has_redis = config.subsystems.iter().any(|served| served.redis.is_some());
    // A PCIe function is reached by its socket alone.
    let is_on_network = config.subsystems.iter().any(|served| served.vfio_user.is_none());
    if config.listen.is_empty() && !has_redis && is_on_network {
        config.listen.extend(saker_tcp::config::LISTEN_DEFAULT.parse::<std::net::SocketAddr>());
    }
    if !args.allow_host.is_empty() {
        config.hosts = saker_tcp::Hosts::Named(args.allow_host.clone());
    } else if args.allow_any_host {
        config.hosts = saker_tcp::Hosts::Any;
    }
    if args.secret_file.is_some() {
        let all = &mut config.all_hosts;
        (all.secret_file, all.ctrl_secret_file) = (args.secret_file.clone(), args.ctrl_secret_file.clone());
    }
    if !args.allow_admin.is_empty() {
        config.all_hosts.admin = Some(args.allow_admin.clone());
    }
    hosts_stated |= args.allow_any_host || !args.allow_host.is_empty();
    config.busy_poll |= args.busy_poll;
    tell_of(&mut config, args);
    if let Some(bytes) = args.connections_memory_max {
        config.connections_memory_max = usize::try_from(bytes).unwrap_or(usize::MAX);
    }
    config.check(hosts_stated).map_err(|error| in_file(args, &error))?;
    super::log::check(&config.log).map_err(|error| match (&error, &args.log) {
        (CliError::Usage { what, todo }, None) => {
            in_file(args, &config.at("log", ConfigError::new(what.as_str(), todo.as_str())))
        }
        _ => error,
    })?;
    Ok(config)
}

/// The URL of an image that is named by its path.
fn image_url(image: &Path) -> Result<String, CliError> {
    saker::DeviceUrl::of_image(image).ok_or_else(|| {
        let what = format!("the name of image `{}` is not UTF-8", image.display());
        CliError::usage(what, "name a link to it")
    })
}

/// What the command line says of a PCIe function.
fn function(config: &mut ServerConfig, args: &ServeArgs) -> Result<(), CliError> {
    let Some(socket) = &args.vfio_user else { return Ok(()) };
    let [only] = config.subsystems.as_mut_slice() else {
        let todo = "write vfio_user for each [[subsystem]] in a --config file";
        return Err(CliError::usage("a PCIe function is wanted, and not one device", todo));
    };
    only.vfio_user = Some(socket.clone());
    only.vfio_user_cmb |= args.vfio_user_cmb;
    Ok(())
}

/// The devices that are PCIe functions.
fn functions(config: &ServerConfig) -> Vec<saker_vfio_user::Served> {
    let each = |served: &Served| {
        let socket = served.vfio_user.clone()?;
        let (url, nqn, memory_buffer) = (served.url.clone(), served.nqn.clone(), served.vfio_user_cmb);
        Some(saker_vfio_user::Served { url, socket, nqn, busy_poll: config.busy_poll, memory_buffer })
    };
    config.subsystems.iter().filter_map(each).collect()
}

fn not_function(error: &saker_vfio_user::ServeError) -> CliError {
    if let saker_vfio_user::ServeError::Device(error) = error {
        return super::opened::refused(error);
    }
    let text = error.to_string();
    let (what, todo) = text.split_once("; ").unwrap_or((&text, "see `saker serve --help`"));
    CliError::failed(what, todo)
}

/// What the command line says of Redis clients.
fn redis(config: &mut ServerConfig, args: &ServeArgs) -> Result<(), CliError> {
    if args.resp.is_none() && args.resp_password_file.is_none() {
        return Ok(());
    }
    let [only] = config.subsystems.as_mut_slice() else {
        let todo = "write [subsystem.redis] in a --config file";
        return Err(CliError::usage("Redis clients are to be served, and not one device", todo));
    };
    if let Some(listen) = args.resp {
        only.redis.get_or_insert(RedisConfig::new(listen)).listen = listen;
    }
    match (&mut only.redis, &args.resp_password_file) {
        (Some(redis), Some(file)) => redis.password_file = Some(file.clone()),
        (None, Some(_)) => {
            return Err(CliError::usage("there is a password and nothing to listen on", "add --resp"));
        }
        (_, None) => {}
    }
    Ok(())
}

/// What the log has.
fn tell_of(config: &mut ServerConfig, args: &ServeArgs) {
    if let Some(filter) = &args.log {
        config.log.filter.clone_from(filter);
    } else if args.quiet {
        config.log.filter = "error".into();
    }
    match args.log_format.as_deref() {
        Some("json") => config.log.format = LogFormat::Json,
        Some(_) => config.log.format = LogFormat::Text,
        None => {}
    }
    config.metrics = args.metrics.or(config.metrics);
    if let Some(ms) = args.slow_ms {
        config.slow = slow_after(ms);
    }
}

fn add_options(url: &mut String, args: &ServeArgs) {
    let timing = args.timing.iter().map(|timing| format!("timing={timing}"));
    let faults = args.fault.iter().map(|fault| format!("fault.{fault}"));
    for option in timing.chain(faults) {
        leave_out(url, option.split_once('=').map_or(&option, |(name, _)| name));
        url.push(if saker::DeviceUrl::split(url).1.is_some() { '&' } else { '?' });
        url.push_str(&option);
    }
}

/// What is given on the command line comes on top of a URL of the configuration file.
fn leave_out(url: &mut String, name: &str) {
    let (head, Some(options)) = saker::DeviceUrl::split(url) else { return };
    let others =
        options.split('&').filter(|option| option.split_once('=').map_or(*option, |(n, _)| n) != name);
    let others = others.collect::<Vec<_>>().join("&");
    *url = if others.is_empty() { head.to_owned() } else { format!("{head}?{others}") };
}

/// An error of the configuration, with the file's name if there is a file.
fn in_file(args: &ServeArgs, error: &ConfigError) -> CliError {
    match (&args.config, usage(error)) {
        (Some(path), CliError::Usage { what, todo }) => {
            CliError::usage(format!("{}: {what}", path.display()), todo)
        }
        (_, error) => error,
    }
}

/// What happened, and what to do.
fn split(text: &str) -> (String, String) {
    let (what, todo) = text.split_once("; ").unwrap_or((text, "see `saker serve --help`"));
    (what.to_owned(), todo.to_owned())
}

fn usage(error: &ConfigError) -> CliError {
    let (what, todo) = split(&error.to_string());
    CliError::usage(what, todo)
}

fn failed(error: &ServeError) -> CliError {
    match error {
        ServeError::Device(error) => super::opened::refused(error),
        ServeError::Config(error) => usage(error),
        other => {
            let text = other.to_string();
            let (what, todo) = text.split_once("; ").unwrap_or((&text, "see `saker serve --help`"));
            CliError::failed(what, todo)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_replaced_and_others_stay() {
        let without = |url: &str| {
            let mut url = url.to_owned();
            leave_out(&mut url, "timing");
            url
        };
        assert_eq!(without("mem:?size=1GiB&timing=off&seed=2"), "mem:?size=1GiB&seed=2");
        assert_eq!((without("mem:?timing=off"), without("mem:")), ("mem:".into(), "mem:".into()));
        assert_eq!(without("mem:?timings=1"), "mem:?timings=1");
        assert_eq!(without("file:a??timing=b?timing=off"), "file:a??timing=b");
    }
}
