//! Rows of flat data, for the formats that hold regular arrays only.

use deckle_runtime::{Data, Form};

/// The elements of arrays; other data unchanged.
pub(crate) fn elements(data: &Data) -> &Data {
    if let Form::Equal(_, elem) | Form::Offsets(_, elem) = data.form() { elem } else { data }
}

/// The length of a row; 0 if there is no such row.
pub(crate) fn row_len(data: &Data, i: usize) -> usize {
    data.row(i).map_or(0, |(lo, hi)| hi - lo)
}

/// The first row of another length, and its length.
pub(crate) fn other_len(data: &Data, len: usize) -> Option<(usize, usize)> {
    match data.form() {
        Form::Equal(m, _) if *m == len => None,
        _ => (0..data.len()).map(|i| (i, row_len(data, i))).find(|(_, has)| *has != len),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deckle_runtime::Buffer;

    #[test]
    fn the_first_row_of_another_length_is_found() {
        let bytes = |n: usize| Data::numbers(vec![0u8; n]);
        let ragged = Data::rows(Buffer::from_vec(vec![0i64, 2, 4, 5]), bytes(5)).unwrap();
        assert_eq!(other_len(&ragged, 2), Some((2, 1)));
        assert_eq!(other_len(&ragged, 1), Some((0, 2)));
        let equal = Data::equal(3, 2, bytes(6)).unwrap();
        assert_eq!((other_len(&equal, 2), other_len(&equal, 1)), (None, Some((0, 2))));
        assert_eq!(other_len(&Data::equal(0, 7, bytes(0)).unwrap(), 1), None);
        assert_eq!((row_len(&ragged, 2), row_len(&ragged, 3), elements(&ragged).len()), (1, 0, 5));
    }
}
