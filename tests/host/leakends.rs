// SPDX-License-Identifier: MIT
// The same in Rust: see leakends.c.
use std::hint::black_box;

#[inline(never)]
fn lose() {
    black_box(Box::into_raw(black_box(Box::new([7u8; 100]))));
}

fn main() {
    match std::env::args().nth(1).unwrap_or_default().as_str() {
        "1" => lose(),
        "2" => {
            let keep = Box::new([1u8; 50]);
            lose();
            black_box(&keep);
            std::process::exit(0)
        }
        "3" => std::mem::forget(black_box(vec![1u8; 100])),
        "4" => std::thread::spawn(lose).join().unwrap(),
        "5" => {
            lose();
            panic!("it ends")
        }
        _ => {}
    }
}
