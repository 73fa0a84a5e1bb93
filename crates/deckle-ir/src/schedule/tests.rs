//! Schedules as text: printed schedules are read back, and errors are reported with their places.

use super::*;

const TEXT: &str = "\
function k0 {
  threads rows 16
  s1: sink 0, fold t3 {
    when interior {
      lanes 8 x 4 apart non_temporal
    } else {
      serial {
        s2: fold t12 {
          when fewer 33 {
            accumulators 4
          } else {
            windows 512 lanes 8 crosswise staged 4096
          }
        }
        s4: {
          lanes 8 x 1 masked
        }
        s4: scan t20 {
          when at_least 100 {
            unrolled
          } else {
            independent
          }
        }
      }
    }
  }
}
function k1 {
  threads copies
  s1: sink 0 {
    when elements 100 {
      lines 4 non_temporal {
        s2: sink 0 {
          lanes 16 x 1
        }
      }
    } else {
      joined {
        s2: sink 0 {
          lines 2
        }
      }
    }
  }
}
function g0 {
  threads grid 256 strided
}
function g1 {
  threads grid 64 successive
}
function g5 {
  threads grid 64 rounds 4
}
function g4 {
  threads grid 64 binned 16384
}
function g2 {
  threads grid 32 parts
}
function g7_ordered {
  threads grid 64 sorted
}
function g6_tile {
  threads grid 256 tiles 8 x 4 across 16 deep 8 at_least 1000
}
function g3_warp {
  threads grid 128 groups 32 at_least 16
  s1: sink 0 {
    serial {
      s2: fold t3 {
        group
      }
    }
  }
}
function k0_totals0 {
  s1: sink 1 {
    when tiles least 12 deepest 8192 {
      tile 6 lanes 16 x 4
    } else {
      windows 2 lanes 4
    }
  }
}
";

#[test]
fn what_is_printed_is_read() {
    let schedule = parse(TEXT).unwrap();
    assert_eq!(schedule.to_string(), TEXT);
    assert_eq!(parse(&schedule.to_string()), Ok(schedule));
}

#[test]
fn reasons_are_printed_and_not_read() {
    let nest = Nest::level(Level::Serial, [], "the order matters");
    let walks: Walks = [Walk { dim: Space(1), items: vec![Item::Sink(0)], nest }].into();
    let schedule =
        Schedule { functions: vec![Function { name: "k".into(), threads: None, walks, legend: Legend::default() }] };
    let text = schedule.to_string();
    assert!(text.contains("// the order matters"), "{text}");
    assert_eq!(parse(&text), Ok(schedule));
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    let wrong = [
        (
            "function k { threads two }",
            "1:22: expected `one`, `blocks`, `rows`, `copies`, `owners` or `grid`, found `two`",
        ),
        (
            "function k { threads grid 64 rows }",
            "1:30: expected `strided`, `binned`, `successive`, `rounds`, `runs`, `parts`, `sorted`, `tiles` or `groups`, found `rows`",
        ),
        ("function k {\n  s1: sink {", "2:12: expected the number of a sink, found `{`"),
        (
            "function k {\n  s1: sink 0 {\n    vectors 8 } }",
            "3:5: expected `when`, or a level such as `serial` or `lanes`, found `vectors`",
        ),
        ("function k { s1: row 3 {", "1:18: expected `fold`, `scan` or `sink`, found `row`"),
        (
            "function k { s1: sink 0 { when often { serial } else { serial } } }",
            "1:32: expected `interior`, `fewer`, `at_least`, `elements` or `tiles`, found `often`",
        ),
        ("function k { s1: sink 0 { lanes 99999 x 1 } }", "1:33: the number 99999 is too large"),
        ("function k {", "1:13: expected a space or `}`, found the end of the text"),
    ];
    for (text, message) in wrong {
        assert_eq!(parse(text).unwrap_err().to_string(), message, "{text}");
    }
    let deep = format!("function k {{ s1: sink 0 {{ {}", "when interior { ".repeat(10_000));
    assert!(parse(&deep).unwrap_err().to_string().contains("deep"));
}
