//! MD5 of a list of words: which of them has a given digest.

use super::case;
use crate::case::{Bound, Case, Job, Size, elements, matrix, rows, scalar, scalars, tuple};
use crate::check::same;
use crate::data::{offsets, words};
use deckle_engine::Data;
use deckle_runtime::Pool;

pub(super) fn cases() -> Vec<Case> {
    let what = ("09-md5", "md5", "14M words");
    vec![
        case("md5-slots", what, ("md5.dk", "slots"), |pool, size| job(pool, size, true)),
        case("md5-words", what, ("md5.dk", "words"), |pool, size| job(pool, size, false)),
    ]
}

fn job(pool: &Pool, size: Size, in_slots: bool) -> Job {
    let n = size.of(14_000_000, 200_000, 300);
    let (slots, lengths) = words(n);
    let j = n / 3;
    let digest = digest(&slots[j][..usize::from(lengths[j])]);
    // Repeated words count again.
    let hits = slots.iter().zip(&lengths).filter(|w| (w.0, w.1) == (&slots[j], &lengths[j])).count() as i64;
    let wanted = tuple(digest.iter().map(|x| scalar(pool, *x)).collect());
    let args = if in_slots {
        let flat = slots.as_flattened();
        let numbers: Vec<u32> = flat.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
        vec![matrix(pool, &numbers, 4), crate::case::vector(pool, &lengths), wanted]
    } else {
        let off = offsets(&lengths.iter().map(|l| i32::from(*l)).collect::<Vec<_>>());
        let text: Vec<u8> = slots.iter().zip(&lengths).flat_map(|(s, l)| &s[..usize::from(*l)]).copied().collect();
        vec![Data::array(rows(pool, &off, scalars(pool, &text))), wanted]
    };
    let check = Box::new(move |d: &Data| same(elements::<i64>(d, 1)?, &[hits]));
    Job { args, again: None, check, bound: Bound::read(17.0 * n as f64, n as f64, "hash") }
}

/// MD5 of a text of at most 55 bytes.
fn digest(text: &[u8]) -> [u32; 4] {
    let mut bytes = [0u8; 64];
    bytes[..text.len()].copy_from_slice(text);
    bytes[text.len()] = 0x80;
    bytes[56..].copy_from_slice(&(8 * text.len() as u64).to_le_bytes());
    let word = |g: usize| u32::from_le_bytes([bytes[4 * g], bytes[4 * g + 1], bytes[4 * g + 2], bytes[4 * g + 3]]);
    let turns = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
    let start = [0x6745_2301u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let [mut a, mut b, mut c, mut d] = start;
    for i in 0..64usize {
        let (f, g) = match i / 16 {
            0 => ((b & c) | (!b & d), i),
            1 => ((d & b) | (!d & c), (5 * i + 1) % 16),
            2 => (b ^ c ^ d, (3 * i + 5) % 16),
            _ => (c ^ (b | !d), 7 * i % 16),
        };
        let k = (((i + 1) as f64).sin().abs() * 4_294_967_296.0) as u32;
        let sum = a.wrapping_add(f).wrapping_add(k).wrapping_add(word(g));
        (a, d, c, b) = (d, c, b, b.wrapping_add(sum.rotate_left(turns[i / 16][i % 4])));
    }
    let end = [a, b, c, d];
    [0, 1, 2, 3].map(|k| start[k].wrapping_add(end[k]))
}

#[cfg(test)]
mod tests {
    use super::digest;

    #[test]
    fn known_digests() {
        let hex = |text: &str| -> String {
            digest(text.as_bytes()).iter().flat_map(|x| x.to_le_bytes()).map(|b| format!("{b:02x}")).collect()
        };
        assert_eq!(hex(""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(hex("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
    }
}
