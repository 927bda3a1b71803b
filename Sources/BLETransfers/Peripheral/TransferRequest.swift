/// What a central wants of a peripheral.
public enum TransferRequest: Hashable, Sendable {
    /// To send a file to it.
    case send(TransferFile)
    /// To receive a file of a name from it.
    case receive(String)
}
