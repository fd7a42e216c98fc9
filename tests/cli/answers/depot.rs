// SPDX-License-Identifier: MIT
// The twin of depot.cc: a service that tracks parcels, with everything that is asked about memory in it. depot PARCELS MICROSECONDS;
// --cfg slip makes the build that is worse.
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hint::black_box;
use std::rc::Rc;
use std::time::Duration;

extern "C" {
    fn mmap(at: *mut u8, size: usize, protection: i32, flags: i32, file: i32, offset: i64) -> *mut u8;
}

struct Tariff {
    zones: Vec<Vec<u8>>,
}

impl Tariff {
    #[inline(never)]
    fn load(rows: usize) -> Tariff {
        let mut all = Vec::with_capacity(rows);
        for _ in 0..rows {
            all.push(vec![1u8; 400]);
        }
        Tariff { zones: all.drain(..rows / 100).collect() }
    }
}

#[derive(Default)]
struct Bus {
    handlers: RefCell<Vec<Box<dyn Fn()>>>,
}

struct Driver {
    inbox: Vec<u8>,
    seen: Cell<u32>,
}

impl Driver {
    #[inline(never)]
    fn hire() -> Driver {
        Driver { inbox: vec![1u8; 2000], seen: Cell::new(0) }
    }

    // The handler stays: the bus keeps the driver.
    #[inline(never)]
    fn arrive(self: &Rc<Driver>, bus: &Bus) {
        let me = self.clone();
        bus.handlers.borrow_mut().push(Box::new(move || me.seen.set(me.inbox.len() as u32)));
    }
}

struct Label {
    scratch: Vec<u8>,
    text: [u8; 80],
}

#[inline(never)]
fn parse(parcel: u32) -> Option<Box<Label>> {
    let label = Box::new(Label { scratch: vec![1u8; 200], text: [1; 80] });
    if parcel % 10 == 0 {
        black_box(Box::into_raw(label)); // malformed: the label is lost
        return None;
    }
    Some(label)
}

struct Route {
    legs: [u8; 500],
    history: Vec<u8>,
}

impl Route {
    #[inline(never)]
    fn plan(size: usize) -> Box<Route> {
        Box::new(Route { legs: [1; 500], history: vec![1u8; size] })
    }
}

#[inline(never)]
fn make_key(parcel: u32, hop: u32) -> String {
    format!("parcel number {parcel} at the hop with number {hop}")
}

#[derive(Default)]
struct Routes {
    entries: HashMap<u32, Box<Route>>,
}

impl Routes {
    // Never evicts.
    #[inline(never)]
    fn find(&mut self, parcel: u32) -> &Route {
        let mut digest = 0;
        for hop in 0..20 {
            digest += black_box(make_key(parcel, hop)).len();
        }
        let size = if cfg!(slip) && digest > 0 { 300 } else { 0 };
        self.entries.entry(parcel).or_insert_with(|| Route::plan(size))
    }
}

// 24 MiB that the heap knows nothing of.
#[inline(never)]
fn map_index() -> *mut u8 {
    let size = 24 << 20;
    let index = unsafe { mmap(std::ptr::null_mut(), size, 3, 0x22, -1, 0) };
    for i in (0..size).step_by(4096) {
        unsafe { index.add(i).write_volatile(1) };
    }
    index
}

// Overwrites what ended calls have left on the stack, where a scan may find the address of a lost label.
#[inline(never)]
fn clear_stack() {
    black_box([0u8; 16384]);
}

fn main() {
    let numbers: Vec<u32> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    let index = map_index();
    let tariff = Tariff::load(20000);
    let (bus, mut routes) = (Bus::default(), Routes::default());
    for parcel in 0..numbers[0] {
        let driver = Rc::new(Driver::hire());
        driver.arrive(&bus);
        if let Some(label) = parse(parcel) {
            black_box((label.scratch.len(), label.text[0], routes.find(parcel).legs[0]));
        }
        std::thread::sleep(Duration::from_micros(numbers[1].into()));
    }
    let histories: usize = routes.entries.values().map(|r| r.history.len()).sum();
    println!("{} parcels, {} drivers", numbers[0], bus.handlers.borrow().len());
    black_box((index, tariff.zones.len(), histories));
    clear_stack();
}
