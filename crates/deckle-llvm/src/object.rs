//! An object file together with the names of its callable functions: the unit of compilation, caching and linking.
//!
//! In a cache entry: the number of names, each name with its length in front, the object. Numbers are 32 bits, little-endian.

/// Machine code before linking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub functions: Vec<String>,
    pub bytes: Vec<u8>,
}

impl Object {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes.len() + 64);
        out.extend((self.functions.len() as u32).to_le_bytes());
        for name in &self.functions {
            out.extend((name.len() as u32).to_le_bytes());
            out.extend(name.as_bytes());
        }
        out.extend(&self.bytes);
        out
    }

    /// None if the bytes are not of this form.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Object> {
        let mut rest = bytes;
        let count = number(&mut rest)?;
        // Every name takes at least four bytes, so a wrong count cannot cause a large allocation.
        let mut functions = Vec::with_capacity(count.min(rest.len() / 4));
        for _ in 0..count {
            let length = number(&mut rest)?;
            let (name, after) = rest.split_at_checked(length)?;
            functions.push(std::str::from_utf8(name).ok()?.to_string());
            rest = after;
        }
        Some(Object { functions, bytes: rest.to_vec() })
    }
}

fn number(rest: &mut &[u8]) -> Option<usize> {
    let (head, after) = rest.split_first_chunk::<4>()?;
    *rest = after;
    Some(u32::from_le_bytes(*head) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_undoes_encoding() {
        let object = Object { functions: vec!["f".into(), "größe".into()], bytes: vec![1, 2, 3] };
        assert_eq!(Object::decode(&object.encode()), Some(object));
    }

    #[test]
    fn wrong_counts_and_lengths_are_refused() {
        assert_eq!(Object::decode(&[]), None);
        assert_eq!(Object::decode(&[255; 4]), None);
        assert_eq!(Object::decode(&[1, 0, 0, 0, 9, 0, 0, 0, b'f']), None);
        assert_eq!(Object::decode(&[1, 0, 0, 0, 1, 0, 0, 0, 0xff]), None);
    }
}
