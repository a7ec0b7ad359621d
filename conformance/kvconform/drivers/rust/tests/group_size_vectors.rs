// Vectors read without the kit: the group sizes of one dialect.
use std::{env, fs};

use kvconform_driver::example::group_size::resolve_group_size; // your own
use serde_json::{from_slice, Value};

#[test]
fn group_sizes_are_those_of_the_vectors() {
    let folder = env::var("KVCONFORM_VECTORS").expect("set KVCONFORM_VECTORS to the folder of the vectors");
    for file in fs::read_dir(folder + "/gs").unwrap() {
        let vector: Value = from_slice(&fs::read(file.unwrap().path()).unwrap()).unwrap();
        let (asks, expected) = (&vector["scenario"], &vector["expected"]);
        let holds = vector["dialects"].as_array().unwrap().contains(&"proposal".into());
        if !holds || expected["kind"] != "resolve" || asks["key_dim"].is_null() {
            continue;
        }
        let number = |name: &str| asks[name].as_i64().unwrap();
        let size = resolve_group_size(number("requested"), number("key_dim"), number("value_dim"));
        assert_eq!(size.unwrap(), expected["group_size"].as_i64(), "{}", vector["id"]);
    }
}
