@testable import BLEBlueZ

extension RadioSwitch {
    /// A kill switch, by its name. An adapter's own switch has the adapter's name.
    init(_ name: String, soft: Bool = false, hard: Bool = false) {
        self.init(id: "rfkill0", name: name, isSoftBlocked: soft, isHardBlocked: hard)
    }
}
