//! Elements of one scalar type as those of another.

use deckle_ir::scalar::ScalarType;

/// Reverses the bytes of every element.
pub(crate) fn swap(bytes: &mut [u8], width: usize) {
    match width {
        1 => {}
        2 => bytes.as_chunks_mut::<2>().0.iter_mut().for_each(|b| b.reverse()),
        4 => bytes.as_chunks_mut::<4>().0.iter_mut().for_each(|b| b.reverse()),
        _ => bytes.as_chunks_mut::<8>().0.iter_mut().for_each(|b| b.reverse()),
    }
}

/// Converts elements to a type that has all their values.
pub(crate) fn widen(from: ScalarType, into: ScalarType, raw: &[u8], to: &mut [u8]) {
    macro_rules! pairs {
        ($($from:ident $a:ty => $($into:ident $b:ty),*;)*) => {
            match (from, into) {
                $($((ScalarType::$from, ScalarType::$into) => {
                    let raw = raw.as_chunks::<{ size_of::<$a>() }>().0;
                    let to = to.as_chunks_mut::<{ size_of::<$b>() }>().0;
                    for (a, b) in raw.iter().zip(to) {
                        *b = <$b>::from(<$a>::from_ne_bytes(*a)).to_ne_bytes();
                    }
                })*)*
                _ => {}
            }
        };
    }
    pairs! {
        I8 i8 => I16 i16, I32 i32, I64 i64;
        I16 i16 => I32 i32, I64 i64;
        I32 i32 => I64 i64;
        U8 u8 => I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64;
        U16 u16 => I32 i32, U32 u32, I64 i64, U64 u64;
        U32 u32 => I64 i64, U64 u64;
        F32 f32 => F64 f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::widens;
    use deckle_ir::scalar::Scalar;

    #[test]
    fn every_type_is_converted_to_all_that_are_wider() {
        for from in ScalarType::ALL {
            for into in ScalarType::ALL.into_iter().filter(|into| *into != from && widens(from, *into)) {
                let bits = 0x8765_4321_8091_A2B3u64;
                let mut to = vec![0; into.bytes()];
                widen(from, into, &bits.to_ne_bytes()[..from.bytes()], &mut to);
                let mut wide = [0; 8];
                wide[..to.len()].copy_from_slice(&to);
                let expected = Scalar::from_bits(from, bits).cast(into);
                assert_eq!(Scalar::from_bits(into, u64::from_ne_bytes(wide)), expected, "{from} {into}");
            }
        }
    }
}
