//! Text of strangers, made harmless: names, messages of servers, whatever stands in a result file.

use std::fmt::Write;

/// The most characters of one piece that are shown.
const LENGTH_MAX: usize = 300;

/// `text` on one line, without anything that a terminal obeys or that reorders what is read; cut where it is very long.
pub(crate) fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(LENGTH_MAX));
    for (place, c) in text.chars().enumerate() {
        if place == LENGTH_MAX {
            shown.push('…');
            break;
        }
        if is_dangerous(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// `text` for a cell or a line of Markdown: nothing in it is markup.
pub(crate) fn markdown(text: &str) -> String {
    let mut shown = String::new();
    for c in plain(text).chars() {
        match c {
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '&' => shown.push_str("&amp;"),
            '|' => shown.push_str("&#124;"),
            '`' => shown.push_str("&#96;"),
            '\\' | '*' | '_' | '[' | ']' | '(' | ')' | '#' | '~' | '!' | '$' | '@' => {
                shown.push('\\');
                shown.push(c);
            }
            // Keeps a bare address from becoming a link.
            ':' => shown.push_str("&#58;"),
            c => shown.push(c),
        }
    }
    shown
}

/// `text` for a field of a spreadsheet: no formula.
pub(crate) fn field(text: &str) -> String {
    let plain = plain(text);
    if plain.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']) {
        return format!("'{plain}");
    }
    plain
}

/// `json`, with every character that is dangerous outside JSON written as an escape. Such characters occur in strings only.
pub(crate) fn json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    let mut units = [0; 2];
    for c in json.chars() {
        if c != '\n' && is_dangerous(c) || matches!(c, '<' | '>' | '&') {
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(shown, "\\u{unit:04x}"); // A string takes everything.
            }
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Controls, separators of lines, marks that change the direction of text, and characters that cannot be seen.
fn is_dangerous(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
