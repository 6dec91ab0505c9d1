//! The scenarios that the READMEs show can be planned as they stand.

use bench_runner::plan::Plan;
use bench_runner::scenario::Scenario;

fn plan_examples(file: &str, page: &str) {
    let blocks: Vec<&str> = page.split("```yaml\n").skip(1).collect();
    assert!(!blocks.is_empty(), "{file} shows no scenario");
    for block in blocks {
        let text = block.split("```").next().expect("a block has an end");
        let scenario = Scenario::parse(file, text, &|_| None);
        if let Err(complaints) = Plan::from_scenario(&scenario) {
            panic!("{file}: this scenario cannot be planned:\n{text}\n{complaints:#?}");
        }
    }
}

#[test]
fn scenario_of_the_readme_can_be_planned() {
    plan_examples("README.md", include_str!("../../README.md"));
}

#[test]
fn scenario_of_the_chinese_readme_can_be_planned() {
    plan_examples("README.zh-CN.md", include_str!("../../README.zh-CN.md"));
}
