from dssfn.experiments import satimage
from tests.support.evidence_sample import sample_of


def test_the_change_nearest_to_the_published_error_is_named():
    (said,) = satimage.words(sample_of("satimage"))
    assert said.endswith("is: mu_l = 1 (\u22129.40\u202fdB).")
