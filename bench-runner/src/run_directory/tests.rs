use serde_json::json;

use super::*;
use crate::exit::Exit;

#[test]
fn a_run_gets_a_folder_of_its_own_and_the_link_points_at_it() {
    let out = tempfile::tempdir().unwrap();
    let run = RunDirectory::create(Some(out.path()), "sale", "lockbench").unwrap();
    run.write_json("plan.json", &json!({"a": 1})).unwrap();
    run.become_latest();
    let plan: Value = read_json(&out.path().join("latest/plan.json")).unwrap();
    assert_eq!(plan, json!({"a": 1}));
    assert_eq!(run.journal().prefix, format!("lockbench:{}", run.journal().id));
    assert_eq!(run.journal().id.len(), 8);
}

#[test]
fn two_runs_never_share_a_folder() {
    let out = tempfile::tempdir().unwrap();
    let run = RunDirectory::create(Some(out.path()), "sale", "lockbench").unwrap();
    let second = RunDirectory::resume(run.path()).unwrap_err();
    assert_eq!(second.exit, Exit::Usage);
    assert!(second.to_string().contains("another lockbench"), "{second}");
}

#[test]
fn a_bad_out_folder_is_a_usage_error_with_a_remedy() {
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("file");
    fs::write(&file, "").unwrap();
    let dangling = out.path().join("dangling");
    std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
    for (bad, says) in [
        (out.path().join("missing"), "mkdir -p"),
        (file, "not a folder"),
        (dangling, "mkdir -p"),
        (PathBuf::from("/proc/1"), "--out"),
    ] {
        let failure = RunDirectory::create(Some(&bad), "sale", "lockbench").unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        assert!(failure.to_string().contains(says), "{failure}");
    }
}

#[test]
fn a_foreign_file_named_latest_is_left_alone() {
    let out = tempfile::tempdir().unwrap();
    fs::write(out.path().join("latest"), "mine").unwrap();
    RunDirectory::create(Some(out.path()), "sale", "lockbench").unwrap().become_latest();
    assert_eq!(fs::read_to_string(out.path().join("latest")).unwrap(), "mine");
}

#[test]
fn another_plan_is_not_resumed_and_the_difference_is_named() {
    let out = tempfile::tempdir().unwrap();
    let run = RunDirectory::create(Some(out.path()), "sale", "lockbench").unwrap();
    let plan = json!({"seed": 1, "cells": [{"id": "a"}]});
    run.write_json("plan.json", &plan).unwrap();
    run.must_have_plan(&plan).unwrap();
    let other = json!({"seed": 1, "cells": [{"id": "b"}]});
    let failure = run.must_have_plan(&other).unwrap_err();
    assert_eq!(failure.exit, Exit::Usage);
    assert!(failure.to_string().contains(r#"cells[0].id was "a" and is "b" now"#), "{failure}");
}

#[test]
fn a_write_that_fails_leaves_the_old_file_whole() {
    let out = tempfile::tempdir().unwrap();
    let path = out.path().join("run.json");
    write_json(&path, &json!(1)).unwrap();
    // A folder stands where the new content would be written first.
    let beside = format!(".run.json.{}.tmp", std::process::id());
    fs::create_dir(out.path().join(beside)).unwrap();
    write_json(&path, &json!(2)).unwrap_err();
    assert_eq!(read_json::<Value>(&path).unwrap(), json!(1));
}
