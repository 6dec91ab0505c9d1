//! Pages made from the code are as fresh as the code.

use std::path::Path;

#[test]
fn generated_pages_are_fresh() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in a workspace");
    for (path, text) in bench_runner::generated_docs::pages() {
        let file = root.join(path);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&file, &text).expect("the page can be written");
        }
        let found = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            found == text,
            "{path} is out of date: UPDATE=1 cargo test -p bench-runner --test docs"
        );
    }
}
