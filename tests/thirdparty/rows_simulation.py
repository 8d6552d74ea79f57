"""Objects with a state: environments and controllers that step, uncertain numbers, vectors, rotations."""

import numpy as np

from tests.thirdparty.case import Case, D


def pendulum_steps(state):
    from gymnasium.envs.classic_control.pendulum import PendulumEnv

    env = PendulumEnv()
    env.reset(seed=0)
    env.state = np.array([state[0], state[1]])
    env.m = state[2]
    rewards = [env.step(np.array([0.5]))[1] for _ in range(5)]
    return sum(rewards), env.state


def cart_steps(state):
    from gymnasium.envs.classic_control.cartpole import CartPoleEnv

    env = CartPoleEnv()
    env.reset(seed=0)
    env.state = tuple(state)
    for action in (1, 0, 1, 1):
        env.step(action)
    return env.state


def acrobot_steps(angles):
    from gymnasium.envs.classic_control.acrobot import AcrobotEnv

    env = AcrobotEnv()
    env.reset(seed=0)
    env.state = np.array([angles[0], angles[1], 0.1, 0.2])
    for action in (0, 2):
        env.step(action)
    return env.state


def controlled_plant(gains):
    from simple_pid import PID

    pid = PID(*gains, setpoint=1.0, sample_time=None, output_limits=(-3, 3))
    level, levels = 0.0, []
    for _ in range(12):
        level = level + 0.1 * (pid(level, dt=0.1) - 0.5 * level)
        levels.append(level)
    return levels, pid.components


def plant_with_a_clock(gain):
    from simple_pid import PID

    times = [0.0]

    def clock():
        times[0] += 0.1
        return times[0]

    pid = PID(gain, 0.4, 0.1, setpoint=1.0, time_fn=clock, proportional_on_measurement=True)
    level = 0.0
    for _ in range(6):
        level += 0.1 * (pid(level) - level)
    return level


def uncertain_product(x):
    from GTC import component, exp, sin, ureal

    a, b = ureal(x, 0.1, label="a"), ureal(2.0, 0.2)
    z = sin(a) * exp(b / 3) + a**2 / b
    return z.x, z.u, component(z, a), (a * b).v


def uncertain_line(y):
    from GTC import type_a

    line = type_a.line_fit([1.0, 2.0, 3.0, 4.0], list(y))
    return line.a_b[0].x, line.a_b[1].x, line.a_b[1].u, line.ssr


def momentum_of_objects(p):
    import vector

    v = vector.obj(px=p[0], py=p[1], pz=p[2], E=4.0)
    other = vector.obj(px=p[1], py=p[0], pz=0.1, E=3.0)
    return v.pt, v.eta, v.mass, v.boostX(0.3).E, v.deltaR(other), (v + other).M, v.gamma


def rotations_of_space(angles):
    from euclid3 import Quaternion, Vector3

    q = Quaternion.new_rotate_euler(*angles)
    p = Quaternion.new_rotate_axis(angles[2], Vector3(0.0, 0.0, 1.0))
    middle = Quaternion.new_interpolate(q, p, 0.3)
    return list(q * Vector3(1.0, 2.0, 3.0)), q.get_angle_axis()[0], list(middle * Vector3(0, 1, 0))


def matrices_of_space(angles):
    from euclid3 import Matrix4, Point3

    a, b = angles
    m = Matrix4.new_rotatex(a).rotatey(b).translate(a, b, 1.0).scale(a, 1.0, b)
    return list(m * Point3(1.0, 2.0, 3.0)), m.inverse().a, (m * m).determinant()


PACKAGES = {
    **dict.fromkeys(("pendulum_steps", "cart_steps", "acrobot_steps"), "gymnasium"),
    **dict.fromkeys(("controlled_plant", "plant_with_a_clock"), "simple_pid"),
    **dict.fromkeys(("uncertain_product", "uncertain_line"), "GTC"),
    "momentum_of_objects": "vector",
    **dict.fromkeys(("rotations_of_space", "matrices_of_space"), "euclid3"),
}
ROWS = [
    Case(pendulum_steps, (D([0.7, 0.1, 1.1]),)),
    Case(cart_steps, (D([0.1, 0.1, 0.05, 0.2]),)),
    Case(acrobot_steps, (D([0.1, 0.2]),)),
    Case(controlled_plant, (D([1.2, 0.5, 0.05]),)),
    Case(plant_with_a_clock, (D(1.2),)),
    Case(uncertain_product, (D(1.2),)),
    Case(uncertain_line, (D([1.0, 2.1, 2.9, 4.2]),)),
    Case(momentum_of_objects, (D([1.0, 2.0, 0.7]),)),
    Case(rotations_of_space, (D([0.7, 0.3, 1.1]),)),
    Case(matrices_of_space, (D([0.7, 0.3]),)),
]
