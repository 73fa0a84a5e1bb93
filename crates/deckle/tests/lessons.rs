//! The lessons run, and their claims hold.

macro_rules! lessons {
    ($($name:ident $file:literal;)*) => {$(
        #[path = $file]
        mod $name;

        #[test]
        fn $name() {
            $name::main().unwrap();
        }
    )*};
}

lessons! {
    lesson_1_a_map "../../../lessons/01_a_map.rs";
    lesson_2_choices_and_loops "../../../lessons/02_choices_and_loops.rs";
    lesson_3_sizes "../../../lessons/03_sizes.rs";
    lesson_4_ragged "../../../lessons/04_ragged.rs";
    lesson_5_streams "../../../lessons/05_streams.rs";
    lesson_6_nested_streams "../../../lessons/06_nested_streams.rs";
    lesson_7_the_border "../../../lessons/07_the_border.rs";
}
