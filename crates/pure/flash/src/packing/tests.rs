// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
use proptest::prelude::*;

const SHAPE: BufferShape = BufferShape { page_bytes: 16_384, unit_bytes: 4096, pages: 512 };

fn policies(shape: BufferShape) -> Vec<(&'static str, Box<dyn Packing>)> {
    vec![
        ("block", Box::new(Block::new(shape))),
        ("all", Box::new(All::new(shape))),
        ("selective", Box::new(Selective::new(shape))),
    ]
}

fn places(policy: &mut dyn Packing, values: &[Arrival]) -> Vec<(u64, u32)> {
    values.iter().map(|v| policy.place(*v)).map(|p| (p.at, p.copied_bytes)).collect()
}

/// Figure 7: A, B and D come in commands, C by DMA.
#[test]
fn the_papers_example() {
    use Arrival::{Dma, Piggybacked};
    let values = [Piggybacked(30), Piggybacked(20), Dma(2048), Piggybacked(40)];
    assert_eq!(places(&mut Block::new(SHAPE), &values), [(0, 30), (4096, 20), (8192, 0), (12_288, 40)]);
    assert_eq!(places(&mut All::new(SHAPE), &values), [(0, 30), (30, 20), (50, 2048), (2098, 40)]);
    assert_eq!(places(&mut Selective::new(SHAPE), &values), [(0, 30), (30, 20), (4096, 0), (6144, 40)]);
}

#[test]
fn values_of_a_block_never_straddle() {
    use Arrival::Dma;
    let values = [Dma(8000), Dma(9000), Dma(4096), Dma(1)];
    assert_eq!(
        places(&mut Block::new(SHAPE), &values).iter().map(|(at, _)| *at).collect::<Vec<_>>(),
        [0, 16_384, 28_672, 32_768]
    );
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let one = prop_oneof![
        4 => (1_u32..128).prop_map(Arrival::Piggybacked),
        1 => (128_u32..9000).prop_map(Arrival::Dma),
    ];
    prop::collection::vec(one, 1..300)
}

proptest! {
    /// No two values share a byte, nothing lies behind the end, and what is settled stays so.
    #[test]
    fn values_never_overlap(values in arrivals(), pages in 2_u32..20) {
        for (name, mut policy) in policies(BufferShape { pages, ..SHAPE }) {
            let mut taken: Vec<(u64, u64)> = Vec::new();
            for value in &values {
                let settled = policy.settled();
                let placed = policy.place(*value);
                prop_assert!(placed.at >= settled, "{name}: below what was settled");
                let copied = placed.copied_bytes;
                prop_assert!(copied == 0 || copied == value.bytes(), "{name}");
                prop_assert!(copied != 0 || placed.at % 4096 == 0, "{name}: DMA needs alignment");
                taken.push((placed.at, placed.at + u64::from(value.bytes())));
            }
            taken.sort_unstable();
            prop_assert!(taken.windows(2).all(|w| w[0].1 <= w[1].0), "{name}: values overlap");
            prop_assert!(taken.last().unwrap().1 <= policy.end(), "{name}");
        }
    }

    /// No policy has fewer pages than All.
    #[test]
    fn all_has_the_fewest_pages(values in arrivals()) {
        let run = |mut policy: Box<dyn Packing>| pack(&SHAPE, policy.as_mut(), values.iter().copied());
        let all = run(Box::new(All::new(SHAPE)));
        for (name, policy) in policies(SHAPE) {
            prop_assert!(run(policy).pages >= all.pages, "{name}");
        }
    }
}
