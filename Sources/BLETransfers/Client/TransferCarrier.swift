public import BLE

/// What carries a transfer.
public enum TransferCarrier: Hashable, Sendable {
    /// Two characteristics of the service: one that the central writes without response, and one that notifies it.
    case characteristics
    /// An L2CAP channel to a number at which the peripheral accepts transfers.
    case channel(PSM)
    /// An L2CAP channel to the number that the peripheral publishes in the service.
    case publishedChannel
}
