/// How MCUboot starts images (Zephyr, "Bootloader information", the query `mode`).
public enum BootloaderMode: Int, Hashable, Sendable {
    /// Unknown.
    case unknown = -1
    /// There is one slot.
    case singleSlot = 0
    /// Images are swapped by means of a scratch area.
    case swapWithScratch = 1
    /// The new image overwrites the old one.
    case overwrite = 2
    /// Images are swapped without a scratch area.
    case swapWithoutScratch = 3
    /// The images run where they are, and a new one is not reverted.
    case directXIP = 4
    /// The images run where they are, and a new one is reverted unless it is confirmed.
    case directXIPWithRevert = 5
    /// The image is copied to RAM.
    case ramLoad = 6
}
