# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Host pools as SGLang has them: pages of several layers, in the layouts of python/sglang/srt/mem_cache/pool_host/mha.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


class Pool:
    """Keys and values, layout `page_first`: a page of each is in one piece."""

    layout = "page_first"

    def __init__(self, pages: int, page_size: int = 4, layers: int = 3, heads: int = 2, dim: int = 8) -> None:
        self.page_size, self.pages = page_size, pages
        self.kv_buffer: Any = torch.zeros(2, pages * page_size, layers, heads, dim)
        self.page_bytes = page_size * layers * heads * dim * 2

    def buffers(self) -> list[Any]:
        return [self.kv_buffer[0], self.kv_buffer[1]]

    def get_page_buffer_meta(self, indices: Any) -> tuple[list[int], list[int]]:
        firsts = indices.tolist()[:: self.page_size]
        row = self.page_bytes // self.page_size
        addresses = [buffer.data_ptr() + first * row for first in firsts for buffer in self.buffers()]
        return addresses, [self.page_bytes] * len(addresses)

    def indices(self, pages: list[int]) -> Any:
        return torch.Tensor(np.concatenate([np.arange(self.page_size) + page * self.page_size for page in pages]))

    def rows(self, page: int) -> Any:
        return self.kv_buffer.array[:, page * self.page_size : (page + 1) * self.page_size]

    def fill(self, page: int, seed: int) -> None:
        self.rows(page)[:] = np.random.default_rng(seed).random(self.rows(page).shape).astype("f2")

    def holds(self, page: int, seed: int) -> bool:
        expected = np.random.default_rng(seed).random(self.rows(page).shape).astype("f2")
        return bool(np.array_equal(self.rows(page), expected))

    def get_data_page(self, index: int, flat: bool = True) -> Any:
        page = self.kv_buffer[:, index : index + self.page_size]
        return page.flatten() if flat else page

    def get_dummy_flat_data_page(self) -> Any:
        return torch.zeros(self.page_bytes)  # elements of 2 bytes, two buffers


class LayerPool(Pool):
    """One buffer a layer and side, layout `layer_first`."""

    layout = "layer_first"

    def __init__(self, pages: int, **shape: int) -> None:
        super().__init__(pages, **shape)
        side, tokens, layers, heads, dim = self.kv_buffer.array.shape
        self.kv_buffer = torch.zeros(side, layers, tokens, heads, dim)
        self.page_bytes //= layers

    def buffers(self) -> list[Any]:
        return [self.kv_buffer[side][layer] for side in range(2) for layer in range(self.kv_buffer.array.shape[1])]

    def rows(self, page: int) -> Any:
        return self.kv_buffer.array[:, :, page * self.page_size : (page + 1) * self.page_size]


class Anchor:
    """A pool without pages of its own."""

    kv_buffer = None
    page_size = 4
