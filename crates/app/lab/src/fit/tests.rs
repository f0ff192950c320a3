// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;

const PATHS: [&str; 2] = ["transfer.page_dma_ns", "transfer.fragment_ns"];

fn free(paths: &[&str]) -> Vec<Free> {
    paths.iter().map(|path| Free { path: (*path).to_owned(), bounds: (0, 50_000) }).collect()
}

fn board() -> Profile {
    Profile::builtin("cosmos-plus").expect("built in")
}

/// Times of the profile with other numbers, as points.
fn points(numbers: [&str; 2], sizes: &[(Method, u32)]) -> Vec<Measured> {
    let mut profile = board();
    PATHS.iter().zip(numbers).for_each(|(path, value)| profile.set(path, value).expect("a number"));
    let blank = |(method, bytes): &(Method, u32)| Measured {
        method: *method,
        bytes: *bytes,
        value: 1.0,
        over: None,
        role: Role::Fit,
    };
    let mut points: Vec<_> = sizes.iter().map(blank).collect();
    let model = Model { profile: &board(), free: &[], pacing: Pacing::Passthrough };
    let values = model.values(&profile, &points).expect("runs");
    points.iter_mut().zip(values).for_each(|(point, value)| point.value = value);
    points
}

fn sizes() -> Vec<(Method, u32)> {
    let of = |method, sizes: &[u32]| sizes.iter().map(|bytes| (method, *bytes)).collect::<Vec<_>>();
    [of(Method::Prp, &[64, 4096, 8192, 16_384]), of(Method::Piggyback, &[32, 64, 128, 512])].concat()
}

fn run(free: &[Free], points: &[Measured]) -> Result<Fit, FitError> {
    fit(&board(), free, points, "a test", Pacing::Passthrough)
}

#[test]
fn numbers_that_made_the_points_are_found_again() {
    let found = run(&free(&PATHS), &points(["8100", "1700"], &sizes())).expect("fits");
    // Times are means of a histogram of three digits.
    let is_near = |n: &Number, wanted: u64| n.value.abs_diff(wanted) <= 10;
    assert!(is_near(&found.numbers[0], 8100) && is_near(&found.numbers[1], 1700), "{}", found.told());
    assert!(found.errors(Role::Fit).expect("points").0 < 1e-3 && found.errors(Role::Held).is_none());
    for row in found.profile.rows().iter().filter(|row| PATHS.contains(&row.path.as_str())) {
        assert!(row.source == "fitted" && row.note.contains("8 points, a test"), "{row:?}");
    }
    assert_eq!(found.profile.transfer.page_dma_ns.value, found.numbers[0].value);
    assert_eq!(Profile::parse(&found.profile.to_toml()), Ok(found.profile), "it can be written to a file");
}

#[test]
fn points_that_are_held_back_are_predicted_and_change_nothing() {
    let mut all = points(["8100", "500"], &sizes());
    let base = run(&free(&PATHS[..1]), &all).expect("fits").numbers;
    let mut held = all[0].clone();
    (held.role, held.value) = (Role::Held, held.value * 2.0);
    all.push(held);
    let found = run(&free(&PATHS[..1]), &all).expect("fits");
    assert_eq!(found.numbers, base);
    let (after, before) = found.errors(Role::Held).expect("one point");
    assert!((after - 0.5).abs() < 1e-6 && before > after, "{after} {before}");
}

/// Points that disagree with each other leave a wide interval, and those that agree a narrow one.
#[test]
fn intervals_are_as_wide_as_the_residuals() {
    let width = |noise: f64| {
        let mut points = points(["8100", "500"], &sizes());
        points
            .iter_mut()
            .zip([1.0, -1.0].into_iter().cycle())
            .for_each(|(p, sign)| p.value *= 1.0 + sign * noise);
        let found = run(&free(&PATHS[..1]), &points).expect("fits");
        let (least, most) = found.numbers[0].interval.expect("inside its bounds");
        assert!(least < 8100.0 && 8100.0 < most, "{noise}: {least} to {most}");
        most - least
    };
    let (narrow, wide) = (width(0.001), width(0.05));
    assert!(narrow * 20.0 < wide, "{narrow} {wide}");
}

#[test]
fn a_number_at_its_bound_has_no_interval() {
    let bounds = vec![Free { path: PATHS[0].to_owned(), bounds: (0, 5000) }];
    let found = run(&bounds, &points(["8100", "500"], &sizes())).expect("fits");
    assert_eq!((found.numbers[0].value, found.numbers[0].interval), (5000, None));
    assert!(found.told().contains("at its bound"));
}

#[test]
fn fits_that_say_nothing_are_refused() {
    let points = points(["8100", "500"], &sizes());
    let told = |free: &[Free], points: &[Measured]| run(free, points).map(|_| ()).unwrap_err().to_string();
    assert!(told(&free(&PATHS), &points[..2]).starts_with("2 points cannot tell 2 numbers"));
    assert!(told(&free(&[]), &points).contains("no number to fit"));
    assert!(told(&free(&[PATHS[0], PATHS[0]]), &points).contains("twice"));
    let reads = told(&free(&["media.erase_ns"]), &points);
    assert_eq!(reads, "the points do not depend on media.erase_ns: leave it out, or add points that do");
    let alike = told(&free(&["host.submit_ns", "firmware.fetch_ns"]), &points);
    assert!(alike.contains("do not tell host.submit_ns and firmware.fetch_ns apart"), "{alike}");
    assert!(told(&free(&["transfer.page_dma"]), &points).contains("transfer.page_dma"));
    let all_held: Vec<_> = points.iter().map(|p| Measured { role: Role::Held, ..p.clone() }).collect();
    assert!(told(&free(&PATHS[..1]), &all_held).starts_with("0 points"));
}

#[test]
fn free_numbers_are_read_strictly() {
    let free = Free::parse("transfer.page_dma_ns = 0..50_000").unwrap();
    assert_eq!((free.path.as_str(), free.bounds), ("transfer.page_dma_ns", (0, 50_000)));
    for bad in ["transfer.page_dma_ns", "x=5", "x=5..5", "x=9..1", "=1..2", "x=a..b", "x=-1..2"] {
        assert!(matches!(Free::parse(bad), Err(FitError::Form(_))), "{bad}");
    }
}

#[test]
fn committed_figures_are_sound_and_fit_their_profiles() {
    for name in figures() {
        let figure = figure(name).expect("it is listed");
        let profile = Profile::builtin(&figure.profile).expect("built in");
        assert!(figure.points.iter().any(|p| p.role == Role::Held), "{name} predicts something");
        let found = figure.fit(&profile).expect("fits");
        let (after, before) = found.errors(Role::Fit).expect("points");
        assert!(after < before, "{name}: {after} {before}");
    }
}
