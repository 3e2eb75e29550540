import numpy as np
from sklearn.neural_network import MLPClassifier

from dssfn.consensus import Gossip, Tree
from dssfn.experiments.comparison.learners import (
    Learners,
    Local,
    federated_round,
    flat,
    mixed_step,
    set_flat,
)
from dssfn.hosting import Traffic
from dssfn.topology import build_topology


def _samples(sizes, seed=0):
    """Nodes with one class each."""
    rng = np.random.default_rng(seed)
    return [
        (rng.normal(size=(size, 4)), np.full(size, node % 3))
        for node, size in enumerate(sizes)
    ]


def test_all_nodes_start_with_the_weights_of_scikit_learn():
    samples = _samples([40, 3, 9])
    nodes = Learners(samples, 3, Local(5, 0.1), seed=0)
    weights = nodes.weights()
    assert (weights == weights[0]).all()
    again = Learners(samples, 3, Local(5, 0.3), seed=0).weights()
    np.testing.assert_array_equal(weights, again)
    other = Learners(samples, 3, Local(5, 0.1), seed=1).weights()
    assert not np.allclose(weights, other)
    sizes = [np.abs(A).max() for A in nodes.models[0].coefs_]
    # Glorot's bound, which `MLPClassifier` draws from.
    assert sizes[0] <= np.sqrt(6 / (4 + 5)) + 1e-9
    assert sizes[1] <= np.sqrt(6 / (5 + 3)) + 1e-9
    assert min(sizes) > 0.1


def test_weights_survive_a_vector():
    X, y = np.eye(4), np.arange(4)
    model = MLPClassifier((3, 2), batch_size=4).partial_fit(X, y, classes=y)
    other = MLPClassifier((3, 2), batch_size=4).partial_fit(X, y, classes=y)
    set_flat(other, flat(model))
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))


def test_a_federated_round_gives_the_mean_weighted_by_samples():
    samples, local = _samples([40, 3, 9, 12]), Local(5, 0.1, epochs=2)
    tree = Tree(build_topology("circular", 4))
    nodes, apart = (Learners(samples, 3, local, seed=0) for _ in range(2))
    traffic = Traffic()
    federated_round(nodes, tree, traffic, 0)
    apart.train_epochs()
    mean = np.average(apart.weights(), axis=0, weights=[40, 3, 9, 12])
    weights = nodes.weights()
    assert (weights == weights[0]).all()
    np.testing.assert_allclose(weights[0], mean, rtol=1e-12, atol=1e-14)
    assert traffic.bytes_total == 8 * tree.n_letters * len(mean)
    assert traffic.rounds == tree.n_rounds


def test_a_mixed_step_gives_the_neighbours_mean():
    samples, local = _samples([40, 33, 9, 50]), Local(5, 0.1, 0.9, steps=3)
    graph = build_topology("path", 4)
    nodes, apart = (Learners(samples, 3, local, seed=0) for _ in range(2))
    traffic = Traffic()
    mixed_step(nodes, Gossip(graph, 1), traffic, 0)
    apart.train_steps()
    before = apart.weights()
    # The product is made from the eigenvalues of H.
    np.testing.assert_allclose(nodes.weights(), graph.H @ before, rtol=0, atol=1e-13)
    assert traffic.bytes_total == 8 * graph.n_links * before.shape[1]


def test_minibatches_use_every_sample_once_before_any_again():
    X = np.arange(70.0)[:, None]
    y = np.arange(70) % 3
    nodes = Learners([(X, y)], 3, Local(2, 0.1), seed=0)
    drawn = np.concatenate([next(nodes._batches[0])[0].ravel() for _ in range(35)])
    for epoch in np.split(drawn, 16):
        assert sorted(epoch) == list(range(70))


def test_a_node_with_one_class_learns_the_others_from_the_rest():
    rng = np.random.default_rng(0)
    centres = 4 * np.eye(3, 4)
    samples = [
        (centres[k] + rng.normal(size=(40, 4)), np.full(40, k)) for k in range(3)
    ]
    X, y = (np.concatenate(parts) for parts in zip(*samples, strict=True))
    nodes = Learners(samples, 3, Local(10, 0.1), seed=0)
    tree = Tree(build_topology("complete", 3))
    for step in range(10):
        federated_round(nodes, tree, Traffic(), step)
    assert min(nodes.accuracies(X, y)) > 0.95


def test_nothing_is_left_of_the_step_that_makes_the_weights():
    rng = np.random.default_rng(0)
    samples = [(rng.normal(size=(40, 4)), np.arange(40) % 3) for _ in range(2)]
    nodes = Learners(samples, 3, Local(10, 0.1, momentum=0.9), seed=0)
    for model in nodes.models:
        assert not any(velocity.any() for velocity in model._optimizer.velocities)
    nodes.train_steps()
    for model in nodes.models:
        assert all(velocity.any() for velocity in model._optimizer.velocities)


def test_the_mean_of_the_weights_is_scored_and_the_nodes_keep_theirs():
    rng = np.random.default_rng(0)
    X, y = (
        3 * np.eye(3)[np.arange(60) % 3] + rng.normal(size=(60, 3)),
        np.arange(60) % 3,
    )
    samples = [(X[y == k], y[y == k]) for k in range(3)]
    nodes = Learners(samples, 3, Local(8, 0.1), seed=0)
    for _ in range(5):
        nodes.train_steps()
    before = nodes.weights()
    found = nodes.accuracy_of_mean(X, y)
    np.testing.assert_array_equal(nodes.weights(), before)
    assert not nodes.are_equal()
    nodes.set_weights([before.mean(axis=0)] * 3)
    assert nodes.are_equal()
    assert nodes.accuracies(X, y) == [found]
