// Every vector that is about what the driver declares, asked through the kit.
use std::{env, rc::Rc};

use kvconform_driver::driver::Driver;
use kvconform_driver::kit::{answer, Implementation, Vector};

#[test]
fn every_vector_is_answered_as_expected() {
    let folder = env::var("KVCONFORM_VECTORS").expect("set KVCONFORM_VECTORS to the folder of the vectors");
    let mut vectors = Vector::all(folder).unwrap();
    vectors.retain(|vector| vector.applies_to(&Driver.info()));
    assert!(!vectors.is_empty());
    for vector in vectors {
        let observed = answer(&Rc::new(Driver), vector.scenario.clone()).unwrap();
        assert_eq!(vector.difference(&observed), None, "{}: {}", vector.id, vector.comment);
    }
}
