// SPDX-License-Identifier: Apache-2.0 OR MIT
use proptest::prelude::*;
use saker_link::{
    ARENA_IOVA, ArenaFull, DmaFault, DmaSpace, MapError, PAGE_BYTES, Placement, WINDOW_BYTES_MAX,
    WINDOW_IOVA, WINDOW_STRIDE, Window,
};

#[test]
fn regions_are_zeroed_page_aligned_and_reused() {
    let space = DmaSpace::new(8, 0);
    let first = space.alloc_pages(2).expect("room");
    assert_eq!((first.iova(), first.bytes()), (ARENA_IOVA, 2 * PAGE_BYTES));
    first.write(100, b"dirty").expect("inside");
    let second = space.alloc_bytes(PAGE_BYTES + 1).expect("room");
    assert_eq!((second.iova(), second.bytes()), (ARENA_IOVA + 8192, 8192));
    drop(first);
    let again = space.alloc_pages(1).expect("room");
    assert_eq!(again.iova(), ARENA_IOVA);
    let mut bytes = [1; 8];
    again.read(98, &mut bytes).expect("inside");
    assert_eq!(bytes, [0; 8]);
    assert_eq!(space.alloc_pages(6).unwrap_err(), ArenaFull { pages: 6 });
}

#[test]
fn creating_and_deleting_regions_does_not_grow() {
    let space = DmaSpace::new(4, 1);
    for _ in 0..10_000 {
        let pair = (space.alloc_pages(1).expect("room"), space.alloc_pages(2).expect("room"));
        assert_eq!(pair.1.iova(), ARENA_IOVA + 4096);
        assert_eq!(space.window().expect("free").base_iova(), WINDOW_IOVA);
    }
    assert_eq!(space.free_pages(), 4);
}

#[test]
fn a_region_keeps_to_its_bounds() {
    let space = DmaSpace::new(3, 0);
    let _below = space.alloc_pages(1).expect("room");
    let region = space.alloc_pages(1).expect("room");
    assert_eq!(region.write(4090, &[1; 6]), Ok(()));
    assert!(region.write(4090, &[1; 7]).is_err());
    assert!(region.read(usize::MAX, &mut [0; 2]).is_err());
    assert!(region.read(4097, &mut []).is_err());
}

#[test]
fn words_are_little_endian_at_any_alignment() {
    let space = DmaSpace::new(1, 0);
    space.write(ARENA_IOVA, &[1, 2, 3, 4, 5, 6, 7, 8, 9]).expect("arena");
    assert_eq!(space.read_u64(ARENA_IOVA), Ok(0x0807_0605_0403_0201));
    assert_eq!(space.read_u64(ARENA_IOVA + 1), Ok(0x0908_0706_0504_0302));
    space.write_u64(ARENA_IOVA + 4080, 0x1122).expect("arena");
    assert_eq!(space.read_u64(ARENA_IOVA + 4080), Ok(0x1122));
    assert!(space.read_u64(ARENA_IOVA + 4089).is_err());
}

#[test]
fn a_read_window_shows_the_buffer_and_refuses_writes() {
    let space = DmaSpace::new(1, 2);
    let mut window = space.window().expect("free");
    let memory: Vec<u8> = (0..=255).collect();
    let buffer = &memory[3..100];
    let iova = window
        .with_mapped_read(buffer, |iova| {
            assert_eq!(iova % 4096, buffer.as_ptr().addr() as u64 % 4096);
            let mut bytes = [0; 97];
            space.read(iova, &mut bytes).expect("mapped");
            assert_eq!(bytes, buffer);
            assert_eq!(space.write(iova, &[0]).unwrap_err().fault, DmaFault::ReadOnly);
            assert_eq!(space.read(iova, &mut [0; 98]).unwrap_err().fault, DmaFault::Unmapped);
            assert_eq!(space.read(iova - 1, &mut [0; 2]).unwrap_err().fault, DmaFault::Unmapped);
            assert_eq!(space.read(iova + 97, &mut [0]).unwrap_err().fault, DmaFault::Unmapped);
            iova
        })
        .expect("short");
    let error = space.read(iova, &mut [0; 4]).unwrap_err();
    assert_eq!((error.iova, error.bytes, error.fault), (iova, 4, DmaFault::Unmapped));
}

#[test]
fn a_write_window_fills_the_buffer() {
    let space = DmaSpace::with_placement(1, 2, Placement::At(4094));
    let _other = space.window().expect("free");
    let mut window = space.window().expect("free");
    let mut buffer = [7; 6];
    let written = window.with_mapped_write(&mut buffer, |iova| {
        assert_eq!(iova, WINDOW_IOVA + WINDOW_STRIDE + 4094);
        space.write(iova + 1, &[1, 2, 3, 4])
    });
    assert_eq!((written, buffer), (Ok(Ok(())), [7, 1, 2, 3, 4, 7]));
}

#[test]
fn unwinding_unmaps() {
    let space = DmaSpace::new(1, 1);
    let mut window = space.window().expect("free");
    let buffer = [0; 16];
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        window.with_mapped_read(&buffer, |_| std::panic::resume_unwind(Box::new(())))
    }));
    assert!(caught.is_err());
    assert!(space.read(window.base_iova() + buffer.as_ptr().addr() as u64 % 4096, &mut [0]).is_err());
    assert_eq!(window.with_mapped_read(&buffer, |_| 5), Ok(5));
}

#[test]
fn owned_buffers_come_back_changed() {
    let space = DmaSpace::new(1, 1);
    let mut window = space.window().expect("free");
    let iova = window.map_owned(vec![1, 2, 3]).expect("short");
    space.write(iova, &[9, 9]).expect("mapped");
    assert_eq!(window.map_owned(vec![4]).unwrap_err(), (MapError::Occupied, vec![4]));
    assert_eq!(window.with_mapped_read(&[0], |_| ()), Err(MapError::Occupied));
    assert_eq!(window.unmap_owned(), Some(vec![9, 9, 3]));
    assert_eq!(window.unmap_owned(), None);
    assert!(space.write(iova, &[0]).is_err());
    let iova = window.map_owned(vec![5]).expect("short");
    drop(window);
    assert!(space.read(iova, &mut [0]).is_err());
    assert!(space.window().is_some());
}

#[test]
fn several_buffers_map_at_once_or_not_at_all() {
    let space = DmaSpace::new(1, 3);
    let mut windows: Vec<Window> = std::iter::from_fn(|| space.window()).collect();
    let (mut a, mut b) = ([0; 2], [0; 3]);
    let done = Window::with_mapped_writes(&mut windows, &mut [&mut a, &mut b], |windows| {
        assert_eq!(windows.len(), 2);
        windows.iter().zip(1..).all(|(window, fill)| {
            let iova = window.mapped_iova().expect("mapped");
            space.write(iova, &[fill; 2]).is_ok()
        })
    });
    assert_eq!((done, a, b), (Ok(true), [1, 1], [2, 2, 0]));
    let long = vec![0; WINDOW_BYTES_MAX + 1];
    let refused = Window::with_mapped_reads(&mut windows, &[&a, &long], |_| ());
    assert_eq!(refused, Err(MapError::TooLong { bytes: long.len() }));
    assert!(windows.iter().all(|window| window.mapped_iova().is_none()));
    assert_eq!(Window::with_mapped_reads(&mut windows, &[&a[..]; 4], |_| ()), Err(MapError::TooFewWindows));
}

#[test]
fn the_longest_buffer_fits_at_the_last_offset() {
    let space = DmaSpace::with_placement(1, 1, Placement::At(4095));
    let mut window = space.window().expect("free");
    let buffer = vec![3; WINDOW_BYTES_MAX];
    let last = window.with_mapped_read(&buffer, |iova| {
        let mut byte = [0];
        space.read(iova + WINDOW_BYTES_MAX as u64 - 1, &mut byte).map(|()| byte[0])
    });
    assert_eq!(last, Ok(Ok(3)));
}

/// Addresses near everything that has an edge, and anywhere.
fn addresses() -> impl Strategy<Value = u64> {
    let edges = [0, ARENA_IOVA, ARENA_IOVA + 8192, WINDOW_IOVA, WINDOW_IOVA + WINDOW_STRIDE, u64::MAX];
    let near = (prop::sample::select(edges.to_vec()), -5000i64..5000);
    prop_oneof![any::<u64>(), near.prop_map(|(edge, by)| edge.wrapping_add_signed(by))]
}

proptest! {
    #[test]
    fn garbage_addresses_are_errors_and_good_ones_a_model(ops in prop::collection::vec(
        (addresses(), prop_oneof![0usize..40, 0usize..9000], any::<u8>(), any::<bool>()), 1..40)
    ) {
        let space = DmaSpace::with_placement(2, 2, Placement::At(96));
        let mut windows: Vec<Window> = std::iter::from_fn(|| space.window()).collect();
        let mapped = WINDOW_IOVA + 96;
        assert_eq!(windows[0].map_owned(vec![0; 5000]).unwrap(), mapped);
        let mut arena = vec![0; 8192];
        let mut buffer = vec![0; 5000];
        for (iova, bytes, fill, write) in ops {
            let area = |base: u64, len: usize| (iova >= base && iova - base <= len as u64 && bytes as u64 <= len as u64 - (iova - base))
                .then(|| (iova - base) as usize);
            let model = match (area(ARENA_IOVA, 8192), area(mapped, 5000)) {
                (Some(at), _) => Some(&mut arena[at..at + bytes]),
                (_, Some(at)) => Some(&mut buffer[at..at + bytes]),
                _ => None,
            };
            let mut data = vec![fill; bytes];
            let done = if write { space.write(iova, &data) } else { space.read(iova, &mut data) };
            prop_assert_eq!(done.is_ok(), model.is_some() || bytes == 0);
            match model {
                Some(model) if write => model.copy_from_slice(&data),
                Some(model) => prop_assert_eq!(&*model, &data[..]),
                None => prop_assert!(data.iter().all(|&byte| byte == fill)),
            }
        }
        prop_assert_eq!(windows[0].unmap_owned(), Some(buffer));
    }
}
