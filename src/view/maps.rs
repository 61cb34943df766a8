//! The response maps of the last frames, small enough to be sent.

use std::collections::{BTreeMap, VecDeque};

use crate::tracker::ResponseMap;

/// Most bytes of maps that are kept.
const KEPT_BYTES: usize = 32 << 20;

/// A response map with 256 levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// Rows and columns.
    pub size: (usize, usize),
    /// The target's centre `(x, y)` on the image that the first element stands for.
    pub origin: (f64, f64),
    /// Pixels of the image from one column to the next and from one row to the next.
    pub step: (f64, f64),
    /// By how much it is turned on the image, in radians, clockwise.
    pub angle: f64,
    /// The lowest and the highest value.
    pub range: (f32, f32),
    /// Row by row: 0 for the lowest value and for what is no number, 255 for the highest.
    pub levels: Vec<u8>,
}

impl Map {
    /// The levels of a response.
    pub fn of(response: &ResponseMap<'_>) -> Self {
        let map = response.centered();
        let finite = map.iter().filter(|value| value.is_finite());
        let (low, high) = finite.fold((f32::INFINITY, f32::NEG_INFINITY), |(lo, hi), &v| (lo.min(v), hi.max(v)));
        // In f64, as the range of an f32 map may be larger than an f32. A value that is no number becomes level 0.
        let unit = 255.0 / (f64::from(high) - f64::from(low));
        let level = |value: &f32| ((f64::from(*value) - f64::from(low)) * unit).round() as u8;
        let levels = map.iter().map(level).collect();
        let &ResponseMap { step, angle, .. } = response;
        Self { size: map.dim(), origin: response.origin(), step, angle, range: (low, high), levels }
    }
}

/// Maps by position and target; the oldest make room for the newest.
#[derive(Debug, Default)]
pub struct Maps {
    maps: BTreeMap<(usize, u32), Map>,
    order: VecDeque<(usize, u32)>,
    bytes: usize,
}

impl Maps {
    /// Keeps the map of a target in a frame, in the place of an earlier one.
    pub fn put(&mut self, position: usize, target: u32, map: Map) {
        let key = (position, target);
        self.bytes += map.levels.len();
        if let Some(before) = self.maps.insert(key, map) {
            self.bytes -= before.levels.len();
            self.order.retain(|known| *known != key);
        }
        self.order.push_back(key);
        while self.bytes > KEPT_BYTES {
            let Some(oldest) = self.order.pop_front() else { return };
            self.bytes -= self.maps.remove(&oldest).map_or(0, |map| map.levels.len());
        }
    }

    /// Forgets the map of a target in a frame.
    pub fn forget(&mut self, position: usize, target: u32) {
        let key = (position, target);
        if let Some(map) = self.maps.remove(&key) {
            self.bytes -= map.levels.len();
            self.order.retain(|known| *known != key);
        }
    }

    /// The map of a target in a frame, while it is kept.
    pub fn get(&self, position: usize, target: u32) -> Option<&Map> {
        self.maps.get(&(position, target))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::tracker::ResponseLayout;

    #[test]
    fn the_lowest_value_is_0_and_the_highest_255() {
        let of = |values: ndarray::Array2<f32>| {
            let (center, step) = ((100.0, 50.0), (4.0, 8.0));
            Map::of(&ResponseMap { values: values.view(), layout: ResponseLayout::Centered, center, step, angle: 0.0 })
        };
        let map = of(array![[-1.0, 0.0, 1.0], [f32::NAN, 0.5, 1.0]]);
        assert_eq!((map.size, map.range), ((2, 3), (-1.0, 1.0)));
        assert_eq!(map.levels, [0, 128, 255, 0, 191, 255]);
        assert_eq!(map.origin, (96.0, 42.0));
        assert_eq!(of(array![[2.0, 2.0]]).levels, [0, 0]);
        assert_eq!(of(array![[f32::NAN]]).levels, [0]);
    }

    #[test]
    fn maps_have_a_bound() {
        let map = |level| Map {
            size: (1024, 1024),
            origin: (0.0, 0.0),
            step: (1.0, 1.0),
            angle: 0.0,
            range: (0.0, 1.0),
            levels: vec![level; 1 << 20],
        };
        let mut maps = Maps::default();
        for position in 1..=40 {
            maps.put(position, 1, map(0));
            maps.put(position, 1, map(1));
        }
        assert!(maps.bytes <= KEPT_BYTES && maps.maps.len() == 32 && maps.order.len() == 32);
        assert!(maps.get(8, 1).is_none() && maps.get(9, 1).is_some_and(|map| map.levels[0] == 1));
        assert!(maps.get(40, 2).is_none());
        let bytes = maps.bytes;
        maps.forget(40, 1);
        maps.forget(40, 1);
        assert!(maps.get(40, 1).is_none() && maps.bytes == bytes - (1 << 20) && maps.order.len() == 31);
    }
}
