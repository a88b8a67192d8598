"""Ordinary training code of many styles: no warning, and the same numbers to the last bit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from casefiles import cells_of
from caserun import CaseShell, Ran

STYLES = {
    "manual SGD under no_grad": """
        import torch
        x, y = torch.linspace(-1, 1, 20)[:, None], torch.linspace(-1, 1, 20)[:, None] ** 2
        w1 = torch.randn(1, 8, requires_grad=True)
        b1 = torch.zeros(8, requires_grad=True)
        w2 = torch.randn(8, 1, requires_grad=True)
        # %%
        losses = []
        for epoch in range(5):
            loss = ((torch.tanh(x @ w1 + b1) @ w2 - y) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                for p in (w1, b1, w2):
                    p -= 0.1 * p.grad
                    p.grad.zero_()
            losses.append(loss.item())
        # %% rerun 2
        """,
    "manual SGD through .data": """
        import torch
        net = torch.nn.Linear(3, 2)
        x, y = torch.randn(8, 3), torch.randn(8, 2)
        # %%
        for step in range(4):
            net.zero_grad()
            loss = torch.nn.functional.mse_loss(net(x), y)
            loss.backward()
            for p in net.parameters():
                p.data.add_(p.grad.data, alpha=-0.05)
        # %% rerun 2
        """,
    "a net of one's own, by hand": """
        import torch

        def init(sizes):
            params = []
            for i, o in zip(sizes, sizes[1:]):
                w = torch.empty(i, o)
                torch.nn.init.kaiming_uniform_(w)
                params.append((w.requires_grad_(), torch.zeros(o, requires_grad=True)))
            return params

        def forward(params, x):
            for w, b in params[:-1]:
                x = (x @ w + b).relu()
            w, b = params[-1]
            return x @ w + b

        params = init([2, 6, 6, 1])
        x = torch.randn(16, 2)
        y = x.prod(1, keepdim=True)
        # %%
        for _ in range(3):
            loss = (forward(params, x) - y).square().mean()
            flat = [t for pair in params for t in pair]
            grads = torch.autograd.grad(loss, flat)
            with torch.no_grad():
                for t, g in zip(flat, grads):
                    t.sub_(g, alpha=0.1)
        print(f"{loss.item():.3f}")
        """,
    "GAN": """
        import torch
        from torch import nn
        G = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
        D = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
        opt_g = torch.optim.Adam(G.parameters(), lr=1e-2, betas=(0.5, 0.999))
        opt_d = torch.optim.Adam(D.parameters(), lr=1e-2, betas=(0.5, 0.999))
        bce = nn.BCEWithLogitsLoss()
        ones, zeros = torch.ones(8, 1), torch.zeros(8, 1)
        # %%
        for step in range(4):
            real = torch.randn(8, 2) + 3
            z = torch.randn(8, 2)
            fake = G(z)
            opt_d.zero_grad()
            loss_d = bce(D(real), ones) + bce(D(fake.detach()), zeros)
            loss_d.backward()
            opt_d.step()
            opt_g.zero_grad()
            loss_g = bce(D(fake), ones)
            loss_g.backward()
            opt_g.step()
        # %% rerun 2
        """,
    "gradient accumulation": """
        import torch
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 3))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        batches = [(torch.randn(4, 4), torch.randint(0, 3, (4,))) for _ in range(6)]
        accumulation_steps = 3
        # %%
        running = 0.0
        optimizer.zero_grad()
        for i, (inputs, labels) in enumerate(batches):
            loss = torch.nn.functional.cross_entropy(model(inputs), labels) / accumulation_steps
            loss.backward()
            running += loss.item()
            if (i + 1) % accumulation_steps == 0:
                optimizer.step()
                optimizer.zero_grad()
        # %% rerun 2
        """,
    "frozen backbone": """
        import torch
        backbone = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6), torch.nn.ReLU())
        head = torch.nn.Linear(6, 2)
        for param in backbone.parameters():
            param.requires_grad = False
        backbone.eval()
        opt = torch.optim.SGD(head.parameters(), lr=0.1, momentum=0.9)
        # %%
        for _ in range(3):
            x, y = torch.randn(5, 4), torch.randint(0, 2, (5,))
            with torch.no_grad():
                feats = backbone(x)
            opt.zero_grad()
            loss = torch.nn.functional.cross_entropy(head(feats), y)
            loss.backward()
            opt.step()
        # %%
        # thaw the last part, with a smaller rate
        backbone[0].requires_grad_(True)
        opt.add_param_group({"params": backbone[0].parameters(), "lr": 0.01})
        for _ in range(2):
            opt.zero_grad()
            torch.nn.functional.cross_entropy(head(backbone(x)), y).backward()
            opt.step()
        """,
    "frozen backbone, filtered parameters": """
        import torch
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.features = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU())
                self.classifier = torch.nn.Linear(4 * 6 * 6, 3)
            def forward(self, x):
                x = self.features(x)
                return self.classifier(torch.flatten(x, 1))
        net = Net()
        net.features.requires_grad_(False)
        opt = torch.optim.Adam(filter(lambda p: p.requires_grad, net.parameters()), lr=1e-3)
        print(sum(p.numel() for p in net.parameters() if p.requires_grad))
        # %%
        for _ in range(2):
            out = net(torch.rand(2, 1, 8, 8))
            loss = out.logsumexp(1).mean()
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
        """,
    "EMA teacher": """
        import copy, torch
        student = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
        teacher = copy.deepcopy(student)
        for p in teacher.parameters():
            p.requires_grad_(False)
        opt = torch.optim.SGD(student.parameters(), lr=0.1)

        @torch.no_grad()
        def update(tau=0.99):
            for t, s in zip(teacher.parameters(), student.parameters()):
                t.mul_(tau).add_(s, alpha=1 - tau)
        # %%
        for _ in range(3):
            x = torch.randn(6, 3)
            with torch.no_grad():
                target = teacher(x).softmax(-1)
            logits = student(x + 0.1 * torch.randn_like(x))
            loss = torch.nn.functional.kl_div(logits.log_softmax(-1), target, reduction="batchmean")
            opt.zero_grad()
            loss.backward()
            opt.step()
            update()
        # %% rerun 2
        """,
    "averaged model": """
        import torch
        from torch.optim.swa_utils import AveragedModel, SWALR
        model = torch.nn.Linear(3, 1)
        averaged = AveragedModel(model)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        schedule = SWALR(opt, swa_lr=0.05)
        for _ in range(4):
            opt.zero_grad()
            model(torch.randn(4, 3)).square().mean().backward()
            opt.step()
            averaged.update_parameters(model)
            schedule.step()
        """,
    "truncated BPTT": """
        import torch
        from torch import nn
        lstm, out = nn.LSTM(2, 4, batch_first=True), nn.Linear(4, 1)
        params = [*lstm.parameters(), *out.parameters()]
        opt = torch.optim.RMSprop(params, lr=1e-2)
        series = torch.randn(3, 12, 2)
        # %%
        hidden = None
        for chunk in series.split(4, dim=1):
            if hidden is not None:
                hidden = tuple(h.detach() for h in hidden)
            y, hidden = lstm(chunk, hidden)
            loss = (out(y) - chunk.sum(-1, keepdim=True)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(params, 1.0)
            opt.step()
        # %% rerun 2
        """,
    "RNN cell, state detached in place": """
        import torch
        cell = torch.nn.GRUCell(2, 3)
        opt = torch.optim.Adam(cell.parameters())
        h = torch.zeros(1, 3)
        # %%
        for t in range(6):
            h = cell(torch.ones(1, 2) * t, h)
            if t % 2:
                opt.zero_grad()
                h.square().sum().backward()
                opt.step()
                h.detach_()
        # %% rerun 2
        """,
    "gradient penalty": """
        import torch
        critic = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        opt = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))

        def penalty(real, fake):
            alpha = torch.rand(real.size(0), 1)
            mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
            score = critic(mixed)
            gradients = torch.autograd.grad(
                outputs=score, inputs=mixed, grad_outputs=torch.ones_like(score),
                create_graph=True, retain_graph=True, only_inputs=True,
            )[0]
            return ((gradients.norm(2, dim=1) - 1) ** 2).mean()
        # %%
        for _ in range(3):
            real, fake = torch.randn(4, 2), torch.randn(4, 2) * 2
            opt.zero_grad()
            loss = critic(fake).mean() - critic(real).mean() + 10 * penalty(real, fake)
            loss.backward()
            opt.step()
        """,
    "learning rate schedules": """
        import torch
        net = torch.nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
        warm = torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=2)
        cosine = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=4)
        scheduler = torch.optim.lr_scheduler.SequentialLR(opt, [warm, cosine], milestones=[2])
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)
        rates = []
        # %%
        for epoch in range(5):
            opt.zero_grad()
            loss = (net(torch.ones(3, 2)) - 1).abs().mean()
            loss.backward()
            opt.step()
            scheduler.step()
            plateau.step(loss.item())
            rates.append(opt.param_groups[0]["lr"])
        """,
    "bfloat16 autocast": """
        import torch
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        # %%
        for _ in range(3):
            x, y = torch.randn(4, 4), torch.randint(0, 2, (4,))
            opt.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = model(x)
                loss = torch.nn.functional.cross_entropy(logits, y)
            loss.backward()
            opt.step()
        # %% rerun 2
        """,
    "GradScaler": """
        import torch
        model = torch.nn.Linear(4, 2)
        opt = torch.optim.Adam(model.parameters(), lr=1e-2)
        scaler = torch.amp.GradScaler("cpu", init_scale=128.0)
        # %%
        for _ in range(3):
            opt.zero_grad(set_to_none=True)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = model(torch.randn(3, 4)).float().square().mean()
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(opt)
            scaler.update()
        """,
    "checkpointing": """
        import torch
        from torch.utils.checkpoint import checkpoint, checkpoint_sequential
        blocks = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.1), torch.nn.ReLU()) for _ in range(3)
        )
        opt = torch.optim.SGD(blocks.parameters(), lr=0.1)
        # %%
        for reentrant in (False, True, False, True):
            x = torch.randn(2, 4, requires_grad=True)
            h = x
            for block in blocks:
                h = checkpoint(block, h, use_reentrant=reentrant)
            opt.zero_grad()
            h.sum().backward()
            opt.step()
            assert x.grad is not None
        # %%
        chain = torch.nn.Sequential(*blocks)
        opt.zero_grad()
        checkpoint_sequential(chain, 2, x, use_reentrant=False).sum().backward()
        opt.step()
        """,
    "DataLoader, train and eval": """
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        X = torch.randn(24, 3)
        Y = (X.sum(1) > 0).long()
        train_loader = DataLoader(TensorDataset(X[:16], Y[:16]), batch_size=4, shuffle=True)
        val_loader = DataLoader(TensorDataset(X[16:], Y[16:]), batch_size=8)
        model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2))
        criterion = torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-4)
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model.to(device)
        # %%
        history = {"train": [], "val": []}
        for epoch in range(2):
            for phase, loader in (("train", train_loader), ("val", val_loader)):
                model.train(phase == "train")
                total, correct = 0.0, 0
                for inputs, labels in loader:
                    inputs, labels = inputs.to(device), labels.to(device)
                    optimizer.zero_grad()
                    with torch.set_grad_enabled(phase == "train"):
                        outputs = model(inputs)
                        _, preds = torch.max(outputs, 1)
                        loss = criterion(outputs, labels)
                        if phase == "train":
                            loss.backward()
                            optimizer.step()
                    total += loss.item() * inputs.size(0)
                    correct += torch.sum(preds == labels.data).item()
                history[phase].append(total / len(loader.dataset))
        # %% rerun 2
        """,
    "torch.func": """
        import torch
        from torch.func import functional_call, grad, jacrev, vmap
        net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
        params = {k: v.detach().clone() for k, v in net.named_parameters()}
        x, y = torch.randn(5, 2), torch.randn(5, 1)

        def loss_of(params, x, y):
            return (functional_call(net, params, (x,)) - y).square().mean()
        # %%
        for _ in range(3):
            grads = grad(loss_of)(params, x, y)
            params = {k: p - 0.1 * grads[k] for k, p in params.items()}
        each = vmap(grad(loss_of), in_dims=(None, 0, 0))(params, x, y)
        jac = jacrev(lambda v: functional_call(net, params, (v,)))(x[0])
        # %%
        # by the module's own parameters, with the graph that torch keeps
        loss = functional_call(net, dict(net.named_parameters()), (x,)).sum()
        loss.backward()
        """,
    "ensemble by stacking": """
        import copy, torch
        from torch.func import functional_call, stack_module_state, vmap
        models = [torch.nn.Linear(2, 1) for _ in range(3)]
        params, buffers = stack_module_state(models)
        base = copy.deepcopy(models[0]).to("meta")
        opt = torch.optim.SGD(params.values(), lr=0.1)
        x = torch.randn(4, 2)
        for _ in range(3):
            out = vmap(lambda p, b: functional_call(base, (p, b), (x,)))(params, buffers)
            opt.zero_grad()
            out.square().mean().backward()
            opt.step()
        """,
    "custom function": """
        import torch
        class Swish(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * torch.sigmoid(x)

            @staticmethod
            def backward(ctx, grad_output):
                x, = ctx.saved_tensors
                s = torch.sigmoid(x)
                return grad_output * (s * (1 + x * (1 - s)))

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
            def forward(self, x):
                return self.b(Swish.apply(self.a(x)))
        # %%
        net = Net()
        opt = torch.optim.Adagrad(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            net(torch.randn(3, 2)).pow(2).mean().backward()
            opt.step()
        # %%
        x = torch.randn(3, dtype=torch.double, requires_grad=True)
        ok = torch.autograd.gradcheck(Swish.apply, (x,))
        """,
    "parametrizations": """
        import torch
        from torch.nn.utils import parametrizations
        net = torch.nn.Sequential(
            parametrizations.weight_norm(torch.nn.Linear(3, 4)),
            torch.nn.ReLU(),
            parametrizations.spectral_norm(torch.nn.Linear(4, 4)),
            parametrizations.orthogonal(torch.nn.Linear(4, 4)),
        )
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        # %%
        for _ in range(3):
            opt.zero_grad()
            net(torch.randn(5, 3)).square().mean().backward()
            opt.step()
        weight = net[2].weight
        # %% rerun 2
        """,
    "LBFGS with a closure": """
        import torch
        target = torch.tensor([1.0, -2.0])
        p = torch.zeros(2, requires_grad=True)
        opt = torch.optim.LBFGS([p], lr=0.5, max_iter=4, line_search_fn="strong_wolfe")

        def closure():
            opt.zero_grad()
            loss = ((p - target) ** 2).sum() + (p[0] * p[1]).cos()
            loss.backward()
            return loss
        # %%
        trail = [opt.step(closure).item() for _ in range(2)]
        # %% rerun 2
        """,
    "variational autoencoder": """
        import torch
        from torch import nn
        class VAE(nn.Module):
            def __init__(self):
                super().__init__()
                self.enc, self.mu, self.logvar = nn.Linear(6, 5), nn.Linear(5, 2), nn.Linear(5, 2)
                self.dec = nn.Sequential(nn.Linear(2, 5), nn.ReLU(), nn.Linear(5, 6))

            def reparameterize(self, mu, logvar):
                std = torch.exp(0.5 * logvar)
                eps = torch.randn_like(std)
                return mu + eps * std

            def forward(self, x):
                h = torch.relu(self.enc(x))
                mu, logvar = self.mu(h), self.logvar(h)
                z = self.reparameterize(mu, logvar)
                return torch.sigmoid(self.dec(z)), mu, logvar
        vae = VAE()
        opt = torch.optim.Adam(vae.parameters(), lr=1e-2)
        # %%
        for _ in range(3):
            x = torch.rand(4, 6)
            recon, mu, logvar = vae(x)
            bce = nn.functional.binary_cross_entropy(recon, x, reduction="sum")
            kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
            loss = bce + kld
            opt.zero_grad()
            loss.backward()
            opt.step()
        # %%
        with torch.no_grad():
            sample = vae.dec(torch.randn(2, 2))
        """,
    "DQN with a target net": """
        import random, torch
        from collections import deque
        policy = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        target = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        target.load_state_dict(policy.state_dict())
        opt = torch.optim.AdamW(policy.parameters(), lr=1e-3, amsgrad=True)
        memory = deque(maxlen=50)
        state = torch.zeros(1, 3)
        # %%
        for step in range(8):
            with torch.no_grad():
                action = policy(state).max(1).indices.view(1, 1)
            following = state + torch.randn(1, 3)
            memory.append((state, action, torch.tensor([float(step % 2)]), following))
            state = following
            if len(memory) < 4:
                continue
            states, actions, rewards, nexts = map(torch.cat, zip(*random.sample(memory, 4)))
            q = policy(states).gather(1, actions)
            with torch.no_grad():
                best = target(nexts).max(1).values
            loss = torch.nn.functional.smooth_l1_loss(q, (best * 0.9 + rewards).unsqueeze(1))
            opt.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_value_(policy.parameters(), 100)
            opt.step()
            t, p = target.state_dict(), policy.state_dict()
            for key in p:
                t[key] = p[key] * 0.005 + t[key] * 0.995
            target.load_state_dict(t)
        # %% rerun 2
        """,
    "PPO": """
        import torch
        from torch.distributions import Categorical
        actor, critic = torch.nn.Linear(3, 2), torch.nn.Linear(3, 1)
        opt = torch.optim.Adam([{"params": actor.parameters()}, {"params": critic.parameters(), "lr": 1e-2}], lr=1e-3)
        obs = torch.randn(8, 3)
        with torch.no_grad():
            dist = Categorical(logits=actor(obs))
            actions = dist.sample()
            old_log_probs = dist.log_prob(actions)
            returns = torch.randn(8)
            advantages = returns - critic(obs).squeeze(-1)
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        # %%
        for _ in range(3):
            dist = Categorical(logits=actor(obs))
            ratio = (dist.log_prob(actions) - old_log_probs).exp()
            surrogate = torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
            value_loss = (critic(obs).squeeze(-1) - returns).pow(2).mean()
            loss = -surrogate.mean() + 0.5 * value_loss - 0.01 * dist.entropy().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    "REINFORCE": """
        import torch
        policy = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
        opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
        # %%
        for episode in range(2):
            log_probs, rewards = [], []
            state = torch.zeros(2)
            for t in range(4):
                dist = torch.distributions.Categorical(logits=policy(state))
                action = dist.sample()
                log_probs.append(dist.log_prob(action))
                rewards.append(float(action))
                state = state + 0.1
            R, returns = 0.0, []
            for r in rewards[::-1]:
                R = r + 0.99 * R
                returns.insert(0, R)
            returns = torch.tensor(returns)
            loss = torch.stack([-lp * g for lp, g in zip(log_probs, returns)]).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
            del log_probs[:], rewards[:]
        """,
    "SimSiam": """
        import torch
        import torch.nn.functional as F
        f = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
        h = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.ReLU(), torch.nn.Linear(2, 4))
        opt = torch.optim.SGD([*f.parameters(), *h.parameters()], lr=0.05, momentum=0.9)

        def D(p, z):
            z = z.detach()
            return -F.cosine_similarity(p, z, dim=1).mean()
        # %%
        for _ in range(3):
            x = torch.randn(6, 4)
            z1, z2 = f(x + 0.1 * torch.randn_like(x)), f(x + 0.1 * torch.randn_like(x))
            p1, p2 = h(z1), h(z2)
            L = D(p1, z2) / 2 + D(p2, z1) / 2
            opt.zero_grad()
            L.backward()
            opt.step()
        """,
    "contrastive loss with a queue": """
        import torch
        import torch.nn.functional as F
        q_enc, k_enc = torch.nn.Linear(4, 3), torch.nn.Linear(4, 3)
        k_enc.load_state_dict(q_enc.state_dict())
        k_enc.requires_grad_(False)
        queue = F.normalize(torch.randn(8, 3), dim=1)
        opt = torch.optim.SGD(q_enc.parameters(), lr=0.1)
        # %%
        for step in range(3):
            x = torch.randn(2, 4)
            q = F.normalize(q_enc(x), dim=1)
            with torch.no_grad():
                k = F.normalize(k_enc(x), dim=1)
            logits = torch.cat([(q * k).sum(1, keepdim=True), q @ queue.t()], 1) / 0.1
            loss = F.cross_entropy(logits, torch.zeros(2, dtype=torch.long))
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                for a, b in zip(k_enc.parameters(), q_enc.parameters()):
                    a.lerp_(b, 0.01)
            queue = torch.cat([queue[2:], k])
        """,
    "MAML": """
        import torch
        net = torch.nn.Linear(1, 1)
        meta = torch.optim.Adam(net.parameters(), lr=1e-2)

        def forward(x, weights):
            return torch.nn.functional.linear(x, *weights)
        # %%
        for _ in range(2):
            meta.zero_grad()
            total = 0
            for task in range(2):
                x = torch.randn(4, 1)
                y = (task + 1) * x
                fast = list(net.parameters())
                for _ in range(2):
                    inner = (forward(x, fast) - y).square().mean()
                    grads = torch.autograd.grad(inner, fast, create_graph=True)
                    fast = [w - 0.1 * g for w, g in zip(fast, grads)]
                total = total + (forward(x, fast) - y).square().mean()
            total.backward()
            meta.step()
        # %% rerun 2
        """,
    "straight-through estimator": """
        import torch
        class Quantized(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.codebook = torch.nn.Embedding(4, 2)
            def forward(self, z):
                index = torch.cdist(z, self.codebook.weight).argmin(-1)
                q = self.codebook(index)
                commit = (q.detach() - z).square().mean() + (q - z.detach()).square().mean()
                return z + (q - z).detach(), commit
        enc, vq = torch.nn.Linear(3, 2), Quantized()
        opt = torch.optim.Adam([*enc.parameters(), *vq.parameters()], lr=1e-2)
        # %%
        for _ in range(3):
            q, commit = vq(enc(torch.randn(5, 3)))
            hard = (q > 0).float() + q.sigmoid() - q.sigmoid().detach()
            loss = hard.mean() + commit
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    "FGSM and mixup": """
        import torch
        import torch.nn.functional as F
        net = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 3))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        # %%
        for _ in range(2):
            x, y = torch.rand(6, 4), torch.randint(0, 3, (6,))
            x.requires_grad = True
            loss = F.cross_entropy(net(x), y)
            net.zero_grad()
            loss.backward()
            adversarial = torch.clamp(x + 0.1 * x.grad.sign(), 0, 1).detach()
            lam = 0.3
            perm = torch.randperm(6)
            mixed = lam * adversarial + (1 - lam) * adversarial[perm]
            out = net(mixed)
            loss = lam * F.cross_entropy(out, y) + (1 - lam) * F.cross_entropy(out, y[perm])
            opt.zero_grad()
            loss.backward()
            opt.step()
        # %%
        # projected gradient descent on the input
        delta = torch.zeros_like(x, requires_grad=True)
        for _ in range(3):
            F.cross_entropy(net(x.detach() + delta), y).backward()
            delta.data = (delta + 0.05 * delta.grad.detach().sign()).clamp(-0.1, 0.1)
            delta.grad.zero_()
        """,
    "an image is optimised": """
        import torch
        net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(32, 1))
        net.eval().requires_grad_(False)
        image = torch.rand(1, 1, 6, 6).requires_grad_(True)
        opt = torch.optim.Adam([image], lr=0.1)
        # %%
        for _ in range(3):
            opt.zero_grad()
            (-net(image).sum() + 0.01 * image.norm()).backward()
            opt.step()
            with torch.no_grad():
                image.clamp_(0, 1)
        """,
    "gradient clipping and noise": """
        import torch
        net = torch.nn.Linear(3, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        norms = []
        for _ in range(3):
            opt.zero_grad()
            (net(torch.randn(4, 3)) ** 4).sum().backward()
            norms.append(torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0).item())
            for p in net.parameters():
                p.grad += 0.01 * torch.randn_like(p.grad)
            opt.step()
        """,
    "several tasks": """
        import torch
        class Multi(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.trunk = torch.nn.Linear(3, 4)
                self.heads = torch.nn.ModuleDict({"a": torch.nn.Linear(4, 1), "b": torch.nn.Linear(4, 2)})
                self.log_vars = torch.nn.Parameter(torch.zeros(2))
            def forward(self, x):
                h = self.trunk(x).relu()
                return {k: head(h) for k, head in self.heads.items()}
        model = Multi()
        opt = torch.optim.Adam(model.parameters(), lr=1e-2)
        # %%
        for _ in range(3):
            outs = model(torch.randn(5, 3))
            losses = torch.stack([
                outs["a"].square().mean(),
                torch.nn.functional.cross_entropy(outs["b"], torch.randint(0, 2, (5,))),
            ])
            loss = (losses * torch.exp(-model.log_vars) + model.log_vars).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        # %%
        # one task after another, on one graph
        outs = model(torch.randn(5, 3))
        opt.zero_grad()
        outs["a"].sum().backward(retain_graph=True)
        outs["b"].sum().backward()
        opt.step()
        """,
    "transformer": """
        import torch
        from torch import nn
        class LM(nn.Module):
            def __init__(self, vocab=11, dim=8):
                super().__init__()
                self.tok, self.pos = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(16, dim))
                layer = nn.TransformerEncoderLayer(dim, 2, 16, dropout=0.1, batch_first=True)
                self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
                self.head = nn.Linear(dim, vocab, bias=False)
                self.head.weight = self.tok.weight
            def forward(self, ids):
                n = ids.size(1)
                mask = nn.Transformer.generate_square_subsequent_mask(n)
                return self.head(self.enc(self.tok(ids) + self.pos[:n], mask=mask))
        lm = LM()
        opt = torch.optim.AdamW(lm.parameters(), lr=1e-3)
        data = torch.randint(0, 11, (2, 9))
        # %%
        for _ in range(2):
            logits = lm(data[:, :-1])
            loss = nn.functional.cross_entropy(logits.reshape(-1, 11), data[:, 1:].reshape(-1))
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
        # %%
        @torch.inference_mode()
        def generate(ids, n):
            lm.eval()
            for _ in range(n):
                ids = torch.cat([ids, lm(ids)[:, -1:].argmax(-1)], 1)
            lm.train()
            return ids
        out = generate(data[:, :3], 3)
        # %% rerun 2
        """,
    "batch norm, train and eval": """
        import torch
        net = torch.nn.Sequential(torch.nn.Conv2d(1, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(3, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        # %%
        for epoch in range(2):
            net.train()
            for _ in range(2):
                opt.zero_grad()
                net(torch.rand(4, 1, 6, 6)).logsumexp(1).mean().backward()
                opt.step()
            net.eval()
            with torch.inference_mode():
                accuracy = (net(torch.rand(4, 1, 6, 6)).argmax(1) == 0).float().mean().item()
        # %% rerun 2
        """,
    "sparse embedding": """
        import torch
        emb = torch.nn.Embedding(20, 4, sparse=True)
        bag = torch.nn.EmbeddingBag(20, 4, mode="sum", sparse=True)
        head = torch.nn.Linear(4, 1)
        sparse = torch.optim.SparseAdam([*emb.parameters(), *bag.parameters()], lr=1e-2)
        dense = torch.optim.Adam(head.parameters(), lr=1e-2)
        # %%
        for _ in range(3):
            ids = torch.randint(0, 20, (6, 2))
            loss = head(emb(ids).mean(1) + bag(ids)).square().mean()
            sparse.zero_grad()
            dense.zero_grad()
            loss.backward()
            sparse.step()
            dense.step()
        """,
    "early stopping": """
        import copy, torch
        net = torch.nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.5)
        best, best_state, bad = float("inf"), None, 0
        val_x, val_y = torch.randn(8, 2), torch.randn(8, 1)
        # %%
        for epoch in range(6):
            opt.zero_grad()
            torch.nn.functional.mse_loss(net(torch.randn(4, 2)), torch.randn(4, 1)).backward()
            opt.step()
            with torch.no_grad():
                val = torch.nn.functional.mse_loss(net(val_x), val_y).item()
            if val < best:
                best, bad = val, 0
                best_state = copy.deepcopy(net.state_dict())
            else:
                bad += 1
                if bad > 1:
                    break
        net.load_state_dict(best_state)
        # %% rerun 2
        """,
    "saved and loaded": """
        import io, torch
        net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
        opt = torch.optim.Adam(net.parameters())
        net(torch.ones(1, 2)).sum().backward()
        opt.step()
        file = io.BytesIO()
        torch.save({"net": net.state_dict(), "opt": opt.state_dict()}, file)
        file.seek(0)
        # %%
        again = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
        opt2 = torch.optim.Adam(again.parameters())
        state = torch.load(file, weights_only=True)
        again.load_state_dict(state["net"])
        opt2.load_state_dict(state["opt"])
        for _ in range(2):
            opt2.zero_grad()
            again(torch.ones(1, 2)).sum().backward()
            opt2.step()
        """,
    "losses for a plot": """
        import torch
        net = torch.nn.Linear(1, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        curve, weights, outputs = [], [], []
        for step in range(4):
            x = torch.full((2, 1), float(step))
            out = net(x)
            loss = (out - 2 * x).abs().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            curve.append(loss.item())
            weights.append(net.weight.detach().clone())
            outputs.append(out.detach().numpy().copy())
            if step % 2 == 0:
                print(step, f"{loss.item():.4f}", float(net.bias))
        # %%
        plotted = [(step, value) for step, value in enumerate(curve)]
        array = net.weight.detach().cpu().numpy()
        """,
    "hooks that log, and go": """
        import torch
        net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
        log, shapes = {}, {}
        handles = []
        for name, p in net.named_parameters():
            handles.append(p.register_hook(lambda g, name=name: log.setdefault(name, []).append(g.norm().item())))
        for name, module in net.named_children():
            def keep(module, args, output, name=name):
                shapes[name] = tuple(output.shape)
            handles.append(module.register_forward_hook(keep))
        handles.append(net[2].register_full_backward_hook(lambda m, gi, go: None))
        # %%
        for _ in range(3):
            net.zero_grad()
            net(torch.randn(4, 2)).sum().backward()
        # %%
        for handle in handles:
            handle.remove()
        net.zero_grad()
        net(torch.randn(4, 2)).sum().backward()
        """,
    "Grad-CAM": """
        import torch
        net = torch.nn.Sequential(torch.nn.Conv2d(1, 3, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(48, 2))
        kept = {}
        def forward_hook(module, args, output):
            kept["act"] = output
            output.register_hook(lambda grad: kept.update(grad=grad))
        handle = net[1].register_forward_hook(forward_hook)
        # %%
        for seed in range(2):
            score = net(torch.rand(1, 1, 4, 4))[0, 1]
            net.zero_grad()
            score.backward()
            weights = kept["grad"].mean((2, 3), keepdim=True)
            cam = (weights * kept["act"].detach()).sum(1).relu()
        handle.remove()
        kept.clear()
        """,
    "actor and critic share a trunk": """
        import torch
        trunk, pi, v = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2), torch.nn.Linear(4, 1)
        opt = torch.optim.RMSprop([p for m in (trunk, pi, v) for p in m.parameters()], lr=1e-3)
        # %%
        for _ in range(3):
            h = trunk(torch.randn(5, 3)).tanh()
            logp, value = pi(h).log_softmax(-1), v(h).squeeze(-1)
            advantage = torch.ones(5) - value
            loss = -(logp[:, 0] * advantage.detach()).mean() + advantage.square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    "Hessian vector products": """
        import torch
        w = torch.randn(4, requires_grad=True)
        def f(w):
            return (w ** 4).sum() + w.prod()
        # %%
        g, = torch.autograd.grad(f(w), w, create_graph=True)
        vector = torch.ones(4)
        product, = torch.autograd.grad(g @ vector, w, retain_graph=True)
        rows = torch.stack([torch.autograd.grad(e, w, retain_graph=True)[0] for e in g])
        full = torch.autograd.functional.hessian(f, w)
        """,
    "physics-informed net": """
        import torch
        u = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        opt = torch.optim.Adam(u.parameters(), lr=1e-2)
        # %%
        for _ in range(3):
            t = torch.rand(6, 1, requires_grad=True)
            y = u(t)
            dy = torch.autograd.grad(y, t, torch.ones_like(y), create_graph=True)[0]
            ddy = torch.autograd.grad(dy.sum(), t, create_graph=True)[0]
            loss = (ddy + y).square().mean() + (u(torch.zeros(1, 1)) - 1).square().sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    "a trainer class over cells": """
        import torch
        class Trainer:
            def __init__(self, model, lr):
                self.model = model
                self.opt = torch.optim.SGD(model.parameters(), lr=lr)
                self.losses = []
            def step(self, batch):
                self.model.train()
                loss = self.model(batch).square().mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                self.losses.append(loss.item())
                return loss.detach()
            @torch.no_grad()
            def validate(self, batch):
                self.model.eval()
                return self.model(batch).square().mean()
        # %%
        trainer = Trainer(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.2)), 0.1)
        # %%
        seen = [trainer.step(torch.randn(3, 2)) for _ in range(3)]
        best = min(seen)
        # %% rerun 3
        # %%
        value = trainer.validate(torch.ones(2, 2))
        """,
}


def _cells(code: str) -> Any:
    lines = code.strip("\n").split("\n")
    indent = len(lines[0]) - len(lines[0].lstrip())
    return cells_of("\n".join(line[indent:] for line in lines))


def _of(value: Any, where: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the numbers that a value holds: tensors with gradients, modules, containers."""
    if isinstance(value, torch.Tensor):
        yield where, str(value) if value.is_meta else value.detach().to_dense().clone()
        if value.is_leaf and value.grad is not None:
            yield f"{where}.grad", value.grad.detach().to_dense().clone()
    elif isinstance(value, torch.nn.Module):
        for name, held in [*value.named_parameters(), *value.named_buffers()]:
            yield from _of(held, f"{where}.{name}")
    elif isinstance(value, dict) and depth < 3:
        for key, held in value.items():
            yield from _of(held, f"{where}[{key!r}]", depth + 1)
    elif isinstance(value, list | tuple) and depth < 3:
        for index, held in enumerate(value):
            yield from _of(held, f"{where}[{index}]", depth + 1)
    elif isinstance(value, int | float | str):
        yield where, value


def _run(shell: CaseShell, style: str) -> tuple[Ran, dict[str, Any]]:
    numbers: dict[str, Any] = {}

    def keep(namespace: dict[str, Any]) -> None:
        hidden = set(shell.shell.user_ns_hidden) | {"In", "Out"}
        for name in sorted(namespace):
            if name not in hidden and not name.startswith("_"):
                numbers.update(_of(namespace[name], name))

    ran = shell.run(_cells(STYLES[style]), then=keep)
    return ran, numbers


@pytest.fixture(scope="module")
def plain() -> dict[str, tuple[Ran, dict[str, Any]]]:
    """What the styles do without leafmagic; the shell is gone before the traced one is made."""
    with CaseShell(traced=False) as shell:
        return {style: _run(shell, style) for style in STYLES}


@pytest.mark.parametrize("style", STYLES)
def test_ordinary_code_is_quiet_and_the_same(style: str, plain: Any, case_shell: CaseShell) -> None:
    alone, expected = plain[style]
    assert alone.raised == [], alone.said
    ran, numbers = _run(case_shell, style)
    assert ran.raised == []
    assert ran.notes == []
    assert ran.alarms == [], "\n".join(f.explanation() for f in ran.alarms)
    assert ran.said == alone.said
    assert list(numbers) == list(expected)
    assert sum(isinstance(value, torch.Tensor) for value in numbers.values()) > 0
    for where, value in numbers.items():
        same = _same(value, expected[where])
        assert same, f"{where} is another: {value} != {expected[where]}"


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        if one.is_floating_point():
            one, other = one.nan_to_num(123.0), other.nan_to_num(123.0)
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other)


def test_a_change_would_be_noticed() -> None:
    """What compares the numbers sees one that differs, and one that is not there."""
    net = torch.nn.Linear(2, 1)
    net(torch.ones(1, 2)).sum().backward()
    before = dict(_of({"net": [net]}, "x"))
    assert "x['net'][0].weight.grad" in before
    with torch.no_grad():
        net.bias.add_(1e-3)
    after = dict(_of({"net": [net]}, "x"))
    assert [name for name in after if not _same(after[name], before[name])] == ["x['net'][0].bias"]
