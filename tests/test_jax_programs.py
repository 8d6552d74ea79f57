"""Programs as they are written for `jax.numpy`: the same code over `funcgrad.numpy` and over JAX."""

from types import SimpleNamespace

import numpy as np
import optree
import pytest

import funcgrad as fg
import funcgrad.numpy
import funcgrad.scipy.linalg
import funcgrad.scipy.special
import funcgrad.scipy.stats

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

SAME = (
    *("grad", "value_and_grad", "jvp", "vjp", "hessian", "vmap", "jit", "custom_jvp", "custom_vjp"),
    "checkpoint",
)


def of_funcgrad():
    """The names that the programs use, of funcgrad."""
    return SimpleNamespace(
        np=funcgrad.numpy,
        lax=fg,
        st=funcgrad.scipy.stats,
        sp=funcgrad.scipy.special,
        la=funcgrad.scipy.linalg,
        tmap=optree.tree_map,
        odeint=fg.odeint,
        sg=fg.stop_gradient,
        **{name: getattr(fg, name) for name in SAME},
    )


def of_jax(jax):
    """The names that the programs use, of JAX."""
    import jax.scipy as scipy
    from jax.experimental.ode import odeint

    return SimpleNamespace(
        np=jax.numpy,
        lax=jax.lax,
        st=scipy.stats,
        sp=scipy.special,
        la=scipy.linalg,
        tmap=jax.tree.map,
        odeint=odeint,
        sg=jax.lax.stop_gradient,
        **{name: getattr(jax, name) for name in SAME},
    )


normal = np.random.default_rng(1).standard_normal
PROGRAMS = {}


def of(*args):
    """A decorator of a program with these arguments."""

    def added(program):
        PROGRAMS[program.__name__] = program, args
        return program

    return added


@of({"q": normal((2, 6, 8)), "k": normal((2, 6, 8)), "v": normal((2, 6, 8))})
def attention(m, p):
    jnp = m.np
    q, k, v = (p["q"], p["k"], p["v"])
    s = jnp.einsum("btd,bsd->bts", q, k) / jnp.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones((6, 6), dtype=bool))
    s = jnp.where(mask, s, -jnp.inf)
    w = jnp.exp(s - jnp.max(s, axis=-1, keepdims=True))
    w = w / w.sum(axis=-1, keepdims=True)
    return jnp.sum(jnp.sin(jnp.einsum("bts,bsd->btd", w, v)))


@of(
    normal((4, 12)),
    {
        "wq": normal((12, 12)),
        "wk": normal((12, 12)),
        "wv": normal((12, 12)),
        "wo": normal((12, 12)),
    },
)
def multihead(m, x, p):
    jnp = m.np

    def split(y):
        return y.reshape(4, 3, 4).transpose(1, 0, 2)

    q, k, v = (split(x @ p[n]) for n in ("wq", "wk", "wv"))
    a = jnp.matmul(q, k.swapaxes(-1, -2)) / 2.0
    a = jnp.where(
        jnp.arange(4)[None, :, None] >= jnp.arange(4)[None, None, :], a, jnp.finfo(a.dtype).min
    )
    a = jnp.exp(a - m.sp.logsumexp(a, axis=-1, keepdims=True))
    return jnp.mean((jnp.moveaxis(a @ v, 0, 1).reshape(4, 12) @ p["wo"]) ** 2)


@of(normal((5, 8)), normal(8), normal(8))
def layer_norm(m, x, g, b):
    jnp = m.np
    mean = x.mean(axis=-1, keepdims=True)
    var = jnp.var(x, axis=-1, keepdims=True)
    return jnp.sum(jnp.cos((x - mean) * jnp.asarray(1.0) / jnp.sqrt(var + 1e-05) * g + b))


@of(normal((20, 2)), {"logits": normal(3), "mu": normal((3, 2)), "logs": normal((3, 2)) * 0.3})
def mixture(m, x, p):
    jnp = m.np
    lw = p["logits"] - m.sp.logsumexp(p["logits"])
    lp = m.st.norm.logpdf(x[:, None, :], p["mu"], jnp.exp(p["logs"])).sum(-1)
    return -m.sp.logsumexp(lw + lp, axis=1).sum()


@of(normal((10, 2)), {"A": np.array([[0.9, 0.2], [-0.1, 0.8]]), "q": 0.3, "r": 0.5})
def kalman(m, ys, p):
    jnp = m.np
    A = p["A"]
    Q = jnp.eye(2) * p["q"] ** 2
    Rm = jnp.eye(2) * p["r"] ** 2
    H = jnp.eye(2)

    def step(c, y):
        mu, S = c
        mu = A @ mu
        S = A @ S @ A.T + Q
        Sy = H @ S @ H.T + Rm
        e = y - H @ mu
        L = jnp.linalg.cholesky(Sy)
        z = m.la.solve_triangular(L, e, lower=True)
        ll = -0.5 * z @ z - jnp.sum(jnp.log(jnp.diag(L))) - jnp.log(2 * jnp.pi)
        K = jnp.linalg.solve(Sy, H @ S).T
        return ((mu + K @ e, S - K @ H @ S), ll)

    _, lls = m.lax.scan(step, (jnp.zeros(2), jnp.eye(2)), ys)
    return lls.sum()


@of(normal(8), {"mu": 0.3, "log_tau": -0.2, "theta": normal(8)})
def eight_schools(m, y, p):
    jnp = m.np
    s = jnp.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    tau = jnp.exp(p["log_tau"])
    lp = m.st.norm.logpdf(p["mu"], 0, 5) + m.st.cauchy.logpdf(tau, 0, 5) + p["log_tau"]
    lp += m.st.norm.logpdf(p["theta"], 0, 1).sum()
    return lp + m.st.norm.logpdf(y, p["mu"] + tau * p["theta"], s).sum()


@of(normal(3) * 0.1, np.array([1.5, 1.0, 3.0]))
def hmc_leapfrog(m, q, a):
    jnp = m.np

    def U(q):
        return jnp.sum(a * q**2 / 2 + jnp.log(jnp.cosh(q)))

    g = m.grad(U)

    def body(i, s):
        q, p = s
        p = p - 0.05 * g(q)
        q = q + 0.1 * p
        p = p - 0.05 * g(q)
        return (q, p)

    q, p = m.lax.fori_loop(0, 10, body, (q, jnp.ones_like(q)))
    return U(q) + 0.5 * jnp.dot(p, p)


@of(np.array([1.1, 0.4, 0.1, 0.4]))
def differential_equation(m, p):
    jnp = m.np

    def f(y, t, a, b, d, g):
        return jnp.array([a * y[0] - b * y[0] * y[1], d * y[0] * y[1] - g * y[1]])

    ys = m.odeint(
        f,
        jnp.array([10.0, 10.0]),
        jnp.linspace(0.0, 5.0, 6),
        p[0],
        p[1],
        p[2],
        p[3],
        rtol=1e-10,
        atol=1e-10,
    )
    return jnp.sum(jnp.log(ys))


@of(np.array([-1.0, 0.0, 1.0, 4.0]))
def double_where(m, x):
    jnp = m.np
    safe = jnp.where(x > 0, x, 1.0)
    return jnp.sum(jnp.where(x > 0, jnp.sqrt(safe) * jnp.log(safe), 0.0))


@of(normal(6) * 2)
def activations(m, x):
    jnp = m.np
    relu = jnp.maximum(x, 0)
    gelu = 0.5 * x * (1 + jnp.tanh(jnp.sqrt(2 / jnp.pi) * (x + 0.044715 * x**3)))
    softplus = jnp.logaddexp(x, 0.0)
    silu = x * m.sp.expit(x)
    elu = jnp.where(x > 0, x, jnp.expm1(jnp.where(x > 0, 0.0, x)))
    selu = 1.05 * jnp.where(x > 0, x, 1.67 * jnp.expm1(x))
    one = (jnp.array([1, 0, 2, 3, 1, 2])[:, None] == jnp.arange(4)).astype(x.dtype)
    celu = jnp.maximum(x, 0.0) + jnp.minimum(0.0, jnp.expm1(x))
    mish = x * jnp.tanh(softplus)
    hs = jnp.clip(x / 6 + 0.5, 0.0, 1.0)
    glu = x[:3] * m.sp.expit(x[3:])
    sq = jnp.sqrt(jnp.square(x) + 4)
    return (
        jnp.sum(relu + gelu + softplus + silu + elu + selu + celu + mish + hs + sq)
        + jnp.sum(one * x[:, None])
        + glu.prod()
        + m.sp.erf(x).sum()
        + m.sp.log_ndtr(x).sum()
        + m.sp.entr(jnp.abs(x)).sum()
    )


@of(normal((7, 3)))
def segments(m, x):
    jnp = m.np
    ids = jnp.array([0, 0, 1, 3, 3, 3, 1])
    total = jnp.zeros((4, 3)).at[ids].add(x)
    counts = jnp.zeros(4).at[ids].add(1.0)
    mean = total / jnp.maximum(counts, 1)[:, None]
    mx = jnp.full((4, 3), -jnp.inf).at[ids].max(x)
    return jnp.sum(mean**2) + jnp.sum(jnp.where(jnp.isfinite(mx), mx**2, 0))


@of(normal((3, 4)), normal((4, 5)), normal(5))
def maps(m, A, B, c):
    jnp = m.np

    def f(a, b, c):
        return jnp.tanh(a @ b + c)

    y = m.vmap(m.vmap(f, in_axes=(None, 1, 0)), in_axes=(0, None, None))(A, B, c)
    z = m.vmap(lambda d: d["x"] * d["y"], in_axes=({"x": 0, "y": None},), out_axes=-1)(
        {"x": A, "y": c[:2, None]}
    )
    return jnp.sum(y**2) + jnp.sum(jnp.sin(z)) + m.vmap(jnp.dot, (0, 0))(A, A).sum()


@of(0.5)
def control_flow(m, x):
    jnp = m.np
    r = m.lax.fori_loop(0, 6, lambda i, v: v - (v**2 - 2 - x) / (2 * v), 1.0 + x)
    c = m.lax.cond(x > 0, lambda v: jnp.sin(v), lambda v: v**2, x)
    s = m.lax.switch(2, [jnp.sin, jnp.cos, jnp.exp], x)
    _, h = m.lax.scan(lambda c, _: (jnp.tanh(c * 1.3 + x), c), x, None, length=5)
    a = m.lax.associative_scan(lambda a, b: a * b, jnp.array([1.0, x, 2 * x, x]))
    return r + c + s + h.sum() + a.sum()


@of(
    [(normal((3, 5)) * 0.5, normal(5)), (normal((5, 2)), normal(2))],
    normal((9, 3)),
    np.array([0, 1] * 4 + [1]),
)
def mlp(m, params, x, y):
    jnp = m.np
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    logits = x @ w + b
    lp = logits - m.sp.logsumexp(logits, axis=1, keepdims=True)
    nll = -jnp.take_along_axis(lp, y[:, None], axis=1).mean()
    l2 = sum((jnp.sum(w**2) for w, _ in params))
    return nll + 0.001 * l2 - lp[jnp.arange(9), y].sum()


@of(normal((6, 2)), normal(6), np.array([0.3, -0.2, 0.1]))
def gaussian_process(m, X, y, h):
    jnp = m.np
    d = X[:, None, :] - X[None, :, :]
    K = jnp.exp(h[0]) * jnp.exp(-0.5 * jnp.sum(d**2, -1) / jnp.exp(h[1]) ** 2) + jnp.exp(
        h[2]
    ) * jnp.eye(6)
    L = m.la.cholesky(K, lower=True)
    al = m.la.cho_solve((L, True), y)
    return 0.5 * y @ al + jnp.log(jnp.diag(L)).sum()


@of(normal(4))
def products_with_hessians(m, x):
    jnp = m.np

    def f(x):
        return jnp.sum(jnp.sin(x) ** 3) + jnp.prod(x)

    _, t = m.jvp(m.grad(f), (x,), (jnp.ones_like(x),))
    _y, pull = m.vjp(f, x)
    H = m.hessian(f)(x)
    return t @ x + pull(1.0)[0].sum() + jnp.linalg.slogdet(H + 10 * jnp.eye(4))[1]


@of(normal(5))
def custom_rules(m, x):
    jnp = m.np

    @m.custom_jvp
    def log1pexp(x):
        return jnp.log(1.0 + jnp.exp(x))

    @log1pexp.defjvp
    def _(primals, tangents):
        (x,) = primals
        (t,) = tangents
        return (log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * t)

    @m.custom_vjp
    def f(x, y):
        return jnp.sin(x) * y

    def fwd(x, y):
        return (f(x, y), (jnp.cos(x), jnp.sin(x), y))

    def bwd(res, g):
        c, s, y = res
        return (c * g * y, s * g)

    f.defvjp(fwd, bwd)
    return (
        log1pexp(x).sum() + f(x, x**2).sum() + m.checkpoint(lambda v: jnp.sin(jnp.sin(v)))(x).sum()
    )


@of(normal((8, 8)), normal((3, 3)))
def convolution(m, im, k):
    jnp = m.np
    pads = jnp.pad(im, 1, mode="edge")
    idx = jnp.arange(8)[:, None] + jnp.arange(3)
    patches = pads[idx[:, None, :, None], idx[None, :, None, :]]
    y = jnp.einsum("ijkl,kl->ij", patches, k)
    pool = jnp.max(y.reshape(4, 2, 4, 2), axis=(1, 3))
    return jnp.sum(pool**2)


@of(normal((5, 3)))
def pairwise(m, x):
    jnp = m.np
    d2 = jnp.sum((x[:, None] - x[None]) ** 2, -1)
    d = jnp.sqrt(jnp.where(jnp.eye(5, dtype=bool), 1.0, d2))
    r6 = (1 / d) ** 6
    e = jnp.where(jnp.eye(5, dtype=bool), 0.0, 4 * (r6**2 - r6))
    i, j = jnp.triu_indices(5, k=1)
    return jnp.sum(e) / 2 + jnp.linalg.norm(x[i] - x[j], axis=-1).sum()


@of(normal(6), normal(6))
def sorted_entries(m, x, y):
    jnp = m.np
    i = jnp.argmax(y)
    top = jnp.sort(x)[::-1][:3]
    order = jnp.argsort(-x)
    cum = jnp.cumsum(x[order])
    k = jnp.sum(1 + jnp.arange(1, 7) * x[order] > cum)
    tau = (cum[k - 1] - 1) / k
    sm = jnp.maximum(x - tau, 0)
    return (
        x[i] * 2
        + top.sum()
        + jnp.sum(sm**2)
        + jnp.roll(x, 1) @ y
        + jnp.interp(0.5, jnp.sort(x), y)
        + jnp.median(x)
        + jnp.quantile(y, 0.3)
    )


@of({"w": normal((4, 3)), "b": normal(3)}, normal((6, 4)))
def adam(m, p, x):
    jnp = m.np

    def loss(p):
        return jnp.mean((jnp.tanh(x @ p["w"] + p["b"]) - 1) ** 2)

    mu = m.tmap(jnp.zeros_like, p)
    nu = m.tmap(jnp.zeros_like, p)
    for t in range(1, 4):
        g = m.grad(loss)(p)
        mu = m.tmap(lambda a, b: 0.9 * a + 0.1 * b, mu, g)
        nu = m.tmap(lambda a, b: 0.99 * a + 0.01 * b**2, nu, g)
        p = m.tmap(
            lambda p, a, b, t=t: (
                p - 0.1 * (a / (1 - 0.9**t)) / (jnp.sqrt(b / (1 - 0.99**t)) + 1e-08)
            ),
            p,
            mu,
            nu,
        )
    return loss(p)


@of(normal((3, 4)), normal((5, 4)))
def rnn(m, W, xs):
    jnp = m.np

    def cell(h, x):
        z = jnp.concatenate([h, x])
        u = m.sp.expit(W @ z[:4])
        h = u * h + (1 - u) * jnp.tanh(z[3:6])
        return (h, jnp.stack([h, h**2]))

    h, hs = m.lax.scan(cell, jnp.zeros(3), xs, reverse=True, unroll=2)
    return hs.sum() + h @ h


@of(normal((3, 3)) * 0.1, normal((4, 3)))
def hmm(m, logits, obs):
    jnp = m.np
    logT = logits - m.sp.logsumexp(logits, axis=1, keepdims=True)

    def step(a, o):
        return (m.sp.logsumexp(a[:, None] + logT, axis=0) + o, None)

    a, _ = m.lax.scan(step, -jnp.log(3.0) + obs[0], obs[1:])

    def vit(a, o):
        s = a[:, None] + logT
        return (jnp.max(s, axis=0) + o, jnp.argmax(s, axis=0))

    v, _bp = m.lax.scan(vit, obs[0], obs[1:])
    return m.sp.logsumexp(a) + v.max()


@of(normal((4, 4)), normal(4))
def fixed_point(m, A, b):
    jnp = m.np
    A = 0.2 * A / jnp.linalg.norm(A)

    x = m.lax.fori_loop(0, 30, lambda i, x: jnp.tanh(A @ x + b), jnp.zeros(4))
    return x.sum()


@of(normal(3) + 1j * normal(3))
def complex_numbers(m, z):
    jnp = m.np
    w = jnp.fft.fft(z * jnp.exp(1j * jnp.arange(3)))
    return jnp.sum(jnp.abs(w) ** 2 * jnp.array([1.0, 2, 3])) + jnp.real(jnp.vdot(z, w))


@of(normal((2, 3, 4)), normal((4, 2)))
def promotion(m, x, w):
    jnp = m.np
    a = jnp.einsum("...d,de->...e", x, w)
    a = a.at[:, 0].set(0.0).at[0, 1:].multiply(2.0)
    i = jnp.int32(1)
    x32 = x.astype(jnp.float32) * 2
    b = jnp.where(a > 0, a, 0.01 * a)[..., None].squeeze(-1)
    return (
        (b.ravel() ** 2).sum()
        + x32.sum().astype(jnp.float64) * 0
        + jnp.stack(jnp.split(x, 2, axis=-1))[i].sum()
        + jnp.float32(2) * jnp.sum(jnp.tensordot(x, w, axes=[[2], [0]]))
    )


@of(normal(5))
def straight_through(m, l):
    jnp = m.np
    y = jnp.exp(l - m.sp.logsumexp(l))
    hard = jnp.zeros(5).at[jnp.argmax(y)].set(1.0)
    return (m.sg(hard - y) + y) @ jnp.arange(5.0)


@of(normal((6, 2)), np.array([1.0, 2.0, 0.5]))
def bodies(m, y0, ms):
    jnp = m.np

    def acc(x):
        d = x[None] - x[:, None]
        r3 = (jnp.sum(d * d, -1) + 0.01) ** 1.5
        return jnp.einsum("j,ijk->ik", ms, d / r3[..., None])

    def step(s, _):
        x, v = s
        v = v + 0.01 * acc(x)
        x = x + 0.01 * v
        return ((x, v), jnp.sum(v**2))

    (x, _v), e = m.lax.scan(step, (y0[:3], y0[3:]), None, length=20)
    return e[-1] + jnp.sum(x**2)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_jax(name):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    program, args = PROGRAMS[name]
    is_index = [isinstance(a, np.ndarray) and a.dtype.kind == "i" for a in args]
    places = tuple([k for k, fixed in enumerate(is_index) if not fixed])
    theirs, ours = of_jax(jax), of_funcgrad()
    given = jax.tree.map(jax.numpy.asarray, args)
    expected = jax.jit(jax.value_and_grad(lambda *a: program(theirs, *a), places))(*given)
    expected = optree.tree_leaves(jax.tree.map(np.asarray, expected))
    own = fg.value_and_grad(lambda *a: program(ours, *a), places)
    for transformed in (own, fg.jit(own)):
        found = optree.tree_leaves(transformed(*args))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)
