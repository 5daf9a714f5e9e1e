"""`scipy.spatial` on variables: `contad.scipy.spatial.transform` has rotations, `contad.scipy.spatial.distance`
distances."""

from contad.scipy.spatial import distance, transform

__all__ = ["distance", "transform"]
