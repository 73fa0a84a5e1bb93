//! Handles into the arenas of a function. Each prints exactly as in the text form.

use std::fmt;

macro_rules! entity {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// Its place in the arena.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }
    };
}

entity!(
    /// A variable of a function: a parameter or the result of a statement.
    Var,
    "v"
);
entity!(
    /// A body: a function's, a lambda's, or a branch's.
    Body,
    "^"
);
entity!(
    /// A function of a program.
    Func,
    "@f"
);
entity!(
    /// A size that is known only at run time.
    SizeVar,
    "n"
);

/// A variable, or a component of a component of one: `v3`, `v3.0.1`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path {
    /// The variable.
    pub root: Var,
    /// Which component, and of that which, and so on.
    pub fields: Vec<u32>,
}

impl Path {
    /// The component `field` of this.
    pub fn field(mut self, field: u32) -> Path {
        self.fields.push(field);
        self
    }
}

impl From<Var> for Path {
    fn from(root: Var) -> Path {
        Path { root, fields: Vec::new() }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.root)?;
        self.fields.iter().try_for_each(|i| write!(f, ".{i}"))
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
