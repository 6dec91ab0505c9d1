//! The documents: links lead somewhere, the two READMEs agree, and every claim and kind has its row.

use std::path::Path;

use bench_runner::exit::Exit;
use results::verdict::ViolationKind;

use crate::tree::{expect_none, files, read, root};

/// The claims that `docs/claims.md` must answer: series and how many.
const CLAIMS: [(char, u32); 5] = [('A', 7), ('R', 11), ('S', 6), ('Z', 6), ('U', 11)];

/// The headings of a page and the commands in its code blocks.
#[derive(Debug, Default, PartialEq)]
struct Outline {
    headings: Vec<usize>,
    blocks: Vec<String>,
}

/// Lines of `page` with whether each is inside a code block (fences included).
fn lines(page: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut inside = false;
    page.lines().map(move |line| {
        let fence = line.trim_start().starts_with("```");
        let was = inside;
        inside ^= fence;
        (line, was || fence)
    })
}

fn outline(page: &str) -> Outline {
    let mut outline = Outline::default();
    let mut open = false;
    for (line, in_block) in lines(page) {
        if !in_block {
            let depth = line.chars().take_while(|c| *c == '#').count();
            outline.headings.extend((depth > 0 && line[depth..].starts_with(' ')).then_some(depth));
        } else if line.trim_start().starts_with("```") {
            open = !open;
            if open {
                outline.blocks.push(String::new());
            }
        } else if let Some(block) = outline.blocks.last_mut() {
            // Remarks are translated, commands are not.
            block.push_str(line.split(" #").next().unwrap_or_default().trim_end());
            block.push('\n');
        }
    }
    outline
}

/// The targets of the inline links of `page` that lie in the tree, without anchors.
fn local_links(page: &str) -> Vec<String> {
    let mut links = Vec::new();
    for (line, in_block) in lines(page) {
        if in_block {
            continue;
        }
        for (at, _) in line.match_indices("](") {
            let target = line[at + 2..].split([')', ' ']).next().unwrap_or_default();
            let target = target.split('#').next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:") {
                links.push(target.to_owned());
            }
        }
    }
    links
}

/// The first cells of the table rows of `page`.
fn row_names(page: &str) -> Vec<&str> {
    let rows = page.lines().filter_map(|line| line.strip_prefix('|'));
    rows.map(|row| row.split('|').next().unwrap_or_default().trim()).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut all = Vec::new();
    for page in files().iter().filter(|file| file.has_extension(&["md"])) {
        let folder = root().join(Path::new(&page.path).parent().unwrap_or(Path::new("")));
        all.extend(local_links(&page.text).iter().filter(|l| !folder.join(l).exists()).map(
            |link| format!("{}: the link to `{link}` leads nowhere: mend the path", page.path),
        ));
    }
    expect_none(&all);
}

#[test]
fn both_readmes_say_the_same() {
    let (english, chinese) = (outline(&read("README.md")), outline(&read("README.zh-CN.md")));
    let mut all = Vec::new();
    if english.headings != chinese.headings {
        all.push(format!(
            "README.zh-CN.md: headings of depth {:?}, but README.md has {:?}: bring both to the same content",
            chinese.headings, english.headings
        ));
    }
    if english.blocks.len() != chinese.blocks.len() {
        all.push(format!(
            "README.zh-CN.md: {} code blocks, but README.md has {}: bring both to the same content",
            chinese.blocks.len(),
            english.blocks.len()
        ));
    }
    for (english, chinese) in english.blocks.iter().zip(&chinese.blocks) {
        if english != chinese {
            all.push(format!(
                "README.zh-CN.md: this code block differs from README.md:\n{chinese}it should be\n{english}"
            ));
        }
    }
    expect_none(&all);
}

#[test]
fn every_claim_has_one_row() {
    let page = read("docs/claims.md");
    let names = row_names(&page);
    let mut all = Vec::new();
    for id in CLAIMS.iter().flat_map(|(series, n)| (1..=*n).map(move |i| format!("{series}{i}"))) {
        match names.iter().filter(|name| **name == id).count() {
            1 => {}
            0 => all.push(format!(
                "docs/claims.md: no row for claim {id}: add it, with `not measured` if it is not"
            )),
            n => all.push(format!("docs/claims.md: {n} rows for claim {id}: keep one")),
        }
    }
    expect_none(&all);
}

#[test]
fn every_kind_of_violation_is_explained() {
    let page = read("docs/correctness.md");
    let mut all = Vec::new();
    for (number, kind) in (1..).zip(ViolationKind::ALL) {
        let row = format!("| A{number} | `{}` |", kind.name());
        if page.lines().filter(|line| line.starts_with(&row)).count() != 1 {
            all.push(format!("docs/correctness.md: it should have one row that begins `{row}`"));
        }
    }
    expect_none(&all);
}

#[test]
fn every_exit_code_is_explained() {
    let exits = [
        Exit::Pass,
        Exit::Gate,
        Exit::Usage,
        Exit::Environment,
        Exit::Partial,
        Exit::Internal,
        Exit::Interrupted,
        Exit::Terminated,
    ];
    let mut all = Vec::new();
    for page in ["README.md", "README.zh-CN.md"] {
        let text = read(page);
        let names = row_names(&text);
        for code in exits.map(|exit| exit.code().to_string()) {
            if !names.iter().any(|name| name.split(", ").any(|n| n == code)) {
                all.push(format!("{page}: no row for exit code {code}: add it to the table"));
            }
        }
    }
    expect_none(&all);
}

#[test]
fn outlines_ignore_remarks_and_prose() {
    let one = "# A\ntext\n```sh\nmake bench # fast\n# not a heading\n```\n## B\n";
    let two = "# 甲\n文\n```sh\nmake bench # 快\n# not a heading\n```\n## 乙\n";
    assert_eq!(outline(one), outline(two));
    assert_eq!(outline(one).headings, [1, 2]);
    assert_ne!(outline(one), outline(&two.replace("make bench", "make test")));
}

#[test]
fn links_are_found_outside_code_only() {
    let page = "[a](docs/a.md#part) and [b](https://example.org), ![c](c.svg \"title\")\n```\n[d](d.md)\n```\n[e](#here)\n";
    assert_eq!(local_links(page), ["docs/a.md", "c.svg"]);
}

#[test]
fn rows_are_named_by_their_first_cell() {
    assert_eq!(row_names("| id | x |\n| --- | - |\n| A1 | y |\n text"), ["id", "---", "A1"]);
}
