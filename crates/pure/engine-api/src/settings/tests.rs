// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;

const fn setting(name: &'static str, values: Values, phase: Phase) -> Setting {
    Setting { name, values, phase, default: "", help: "" }.checked()
}

static LIST: [Setting; 3] = [
    setting("colour", Values::Words(&["red", "blue"]), Phase::Kept(BitField { shift: 8, bits: 4 })),
    setting("speed", Values::Number(2, 64), Phase::AtOpen),
    setting("lights", Values::Switch, Phase::Stored(BitField { shift: 30, bits: 2 })),
];

fn size(text: &str) -> Option<u64> {
    text.parse().ok()
}

#[test]
fn texts_become_numbers_and_back() {
    assert_eq!(LIST[0].parse("blue", size), Ok(1));
    assert_eq!(LIST[0].parse("green", size), Err("write one of red, blue".into()));
    assert_eq!((LIST[1].parse("64", size), LIST[1].parse("65", size)), (Ok(64), Err("write 2 to 64".into())));
    assert_eq!(LIST[1].parse("many", size), Err("write a number, or a size such as 16MiB".into()));
    assert_eq!((LIST[2].parse("on", size), LIST[2].parse("2", size)), (Ok(1), Err("write on or off".into())));
    let takes = LIST.iter().map(Setting::takes).collect::<Vec<_>>();
    assert_eq!(takes, ["`red`, `blue`", "2 to 64", "`on`, `off`"]);
    assert_eq!(setting("a", Values::Number(1024, 1 << 32), Phase::AtOpen).takes(), "1KiB to 4GiB");
    assert_eq!(setting("a", Values::Number(1, u64::from(u32::MAX)), Phase::AtOpen).takes(), "from 1");
    assert_eq!([LIST[0].written(1), LIST[1].written(7), LIST[2].written(0)], ["blue", "7", "off"]);
}

#[test]
fn names_and_ranges_are_checked() {
    let mut settings = Settings::NONE;
    assert_eq!(settings.set(&LIST, "speed", 1), Err("write 2 to 64".into()));
    assert_eq!(settings.set(&LIST, "weight", 1), Err("write one of colour, speed, lights".into()));
    assert_eq!(settings.set(&[], "weight", 1), Err("this engine has no settings".into()));
    assert!(settings.is_empty());
    settings.set(&LIST, "speed", 3).unwrap();
    assert_eq!((settings.get("speed"), settings.get("colour")), (Some(3), None));
}

#[test]
fn an_image_keeps_what_is_stored() {
    let mut settings = Settings::NONE;
    for (name, number) in [("colour", 1), ("speed", 5), ("lights", 1)] {
        settings.set(&LIST, name, number).unwrap();
    }
    let word = settings.stored(&LIST);
    assert_eq!(word, 1 << 8 | 1 << 30);
    let back = Settings::of_image(&LIST, word | 1);
    assert_eq!(back.iter().collect::<Vec<_>>(), [("colour", 1), ("lights", 1)]);
    assert_eq!(Settings::of_image(&LIST, 7 << 8), Settings::NONE);
}

#[test]
fn typed_settings_wait_for_their_engine() {
    let mut typed = Typed::default();
    for (name, text) in [("speed", "9"), ("colour", "blue"), ("speed", "10")] {
        typed.push(name, text);
    }
    assert_eq!(typed.of(&LIST[1..], size).unwrap().iter().collect::<Vec<_>>(), [("speed", 10)]);
    assert_eq!(
        (typed.unknown(&[&LIST[..1], &LIST[1..]]), typed.unknown(&[&LIST[1..]])),
        (None, Some("colour"))
    );
    typed.push("speed", "1");
    assert_eq!(typed.of(&LIST, size), Err(("speed=1".into(), "write 2 to 64".into())));
}

#[test]
fn what_is_not_said_is_as_it_was() {
    let of = |pairs: &[(&str, u64)]| {
        let mut settings = Settings::NONE;
        pairs.iter().for_each(|(name, number)| settings.set(&LIST, name, *number).unwrap());
        settings
    };
    let both = of(&[("speed", 9)]).over(&of(&[("speed", 3), ("lights", 1)]));
    assert_eq!(both, of(&[("speed", 9), ("lights", 1)]));
    assert_eq!(both.within(&LIST[..2]), of(&[("speed", 9)]));
}
