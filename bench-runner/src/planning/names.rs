//! Names that are safe as names of files: of runs, of cells.

use crate::yaml::{Node, Shape};

/// Longest slug before its hash, in characters.
const SLUG: usize = 60;
/// Longest cell id, in characters.
const CELL: usize = 150;

/// `name` as lower-case ASCII words joined by dashes, at most 69 characters; with a hash of `name` if anything had to change.
pub fn slug(name: &str) -> String {
    let plain = words(name, SLUG);
    let reserved = matches!(plain.as_str(), "" | "con" | "prn" | "aux" | "nul" | "latest")
        || (plain.len() == 4 && (plain.starts_with("com") || plain.starts_with("lpt")));
    if plain == name && !reserved {
        return plain;
    }
    let stem = if plain.is_empty() { "scenario" } else { &plain };
    format!("{stem}-{}", hash(name))
}

fn words(text: &str, longest: usize) -> String {
    let mut words = String::new();
    for char in text.chars() {
        if words.len() >= longest {
            break;
        }
        if char.is_ascii_alphanumeric() {
            words.push(char.to_ascii_lowercase());
        } else if !words.is_empty() && !words.ends_with('-') {
            words.push('-');
        }
    }
    words.trim_end_matches('-').to_owned()
}

/// Eight hexadecimal digits that are the same for the same text everywhere (FNV-1a).
pub fn hash(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{:08x}", (hash >> 32) ^ (hash & 0xffff_ffff))
}

/// The id of a cell from the labels of its axes.
pub fn cell_id(labels: &[&str]) -> String {
    let id = labels.join(".");
    if id.len() <= CELL {
        return id;
    }
    let cut = &id[..CELL - 9];
    format!("{}-{}", cut.trim_end_matches(['-', '.', '+']), hash(&id))
}

/// One label for each value of an axis: its name, with its options behind it where the name alone stands for several.
pub fn labels(values: &[(&str, Option<&Node>)]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for (name, block) in values {
        let alone = values.iter().filter(|(other, _)| other == name).count() == 1;
        let label = match block {
            Some(block) if !alone => format!("{name}{}", suffix(block)),
            _ => (*name).to_owned(),
        };
        let label = if labels.contains(&label) {
            format!("{label}-{}", hash(&format!("{block:?}")))
        } else {
            label
        };
        labels.push(label);
    }
    labels
}

fn suffix(block: &Node) -> String {
    let mut parts = Vec::new();
    flatten("", block, &mut parts);
    let whole = parts.iter().fold(String::new(), |whole, part| whole + "+" + &words(part, 40));
    if whole.len() <= 48 { whole } else { format!("+{}", hash(&whole)) }
}

fn flatten(path: &str, node: &Node, parts: &mut Vec<String>) {
    match &node.shape {
        Shape::Scalar(scalar) => parts.push(format!("{path} {}", scalar.text)),
        Shape::List(items) => items.iter().for_each(|item| flatten(path, item, parts)),
        Shape::Map(pairs) => {
            for pair in pairs {
                flatten(format!("{path} {}", pair.key).trim(), &pair.value, parts);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hostile_names_become_harmless_ones() {
        assert_eq!(slug("flash-sale"), "flash-sale");
        let long = "x".repeat(300);
        for hostile in [
            "../../etc/x",
            "/etc/passwd",
            "a\0b",
            &long,
            "CON",
            "con",
            "-rf",
            "",
            "..",
            "日本",
            "latest",
        ] {
            let slug = slug(hostile);
            assert!(harmless(&slug), "{hostile:?} became {slug:?}");
            assert_ne!(slug, hostile);
        }
        assert_ne!(slug("a b"), slug("a  b"));
    }

    fn harmless(name: &str) -> bool {
        !name.is_empty()
            && name.len() <= CELL
            && name.starts_with(|char: char| char.is_ascii_alphanumeric())
            && name.chars().all(|char| {
                char.is_ascii_lowercase() || char.is_ascii_digit() || "-+.".contains(char)
            })
            && !name.contains("..")
    }

    proptest! {
        #[test]
        fn every_name_has_a_harmless_slug(name in any::<String>()) {
            prop_assert!(harmless(&slug(&name)));
        }

        #[test]
        fn different_names_have_different_slugs(one in ".{0,80}", other in ".{0,80}") {
            prop_assume!(one != other);
            prop_assert_ne!(slug(&one), slug(&other));
        }
    }
}
